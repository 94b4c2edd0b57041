// Slack's bad days: what was written meanwhile is answered once, and nothing is posted twice.
import { describe, expect, test } from 'vitest'
import { eventually, pause, unaccounted } from '../fakes/temporary.ts'
import { drafts, finals, openStage } from '../harness/slack.ts'

describe('what was written while the gateway was away', () => {
  test('is answered after the start, once, in channels, threads and direct messages, page by page', async () => {
    await using stage = await openStage({ page: 2 })
    const { slack } = stage
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, slack.general, 'before the first start', { mention: true })
    const first = await stage.start()
    const root = slack.say(slack.ada, slack.general, 'a root', { mention: true })
    await stage.answer(slack.general, 'turn 1: a root')
    await first.stop()
    for (const n of [1, 2, 3, 4, 5]) slack.say(slack.ada, direct, `direct ${n}`)
    slack.say(slack.ada, slack.general, 'in the thread', { thread: root.ts })
    slack.say(slack.ada, slack.general, 'a new one', { mention: true })
    const started = slack.say(slack.ada, slack.general, 'people talking')
    slack.say(slack.ada, slack.general, 'called in their thread', { thread: started.ts, mention: true })
    const gateway = await stage.start()
    for (const [n, words] of ['direct 1', 'direct 2', 'direct 3', 'direct 4', 'direct 5'].entries())
      await stage.answer(direct, `turn ${n + 1}: ${words}`)
    await stage.answer(slack.general, 'turn 2: in the thread')
    await stage.answer(slack.general, 'turn 1: a new one')
    await stage.answer(slack.general, 'turn 1: called in their thread')
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
    await gateway.stop('SIGKILL')
    await stage.start()
    slack.say(slack.ada, direct, 'the last')
    await stage.answer(direct, 'turn 6: the last')
    expect(stage.home.begun()).toHaveLength(10)
    expect(finals(slack, slack.general)).toHaveLength(4)
    expect(finals(slack, direct)).toHaveLength(6)
  })

  test('commands are not carried out again', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const direct = slack.dm(slack.ada)
    const first = await stage.start()
    slack.say(slack.ada, direct, 'one')
    await stage.answer(direct, 'turn 1: one')
    slack.say(slack.ada, direct, '!new')
    await slack.until(() => finals(slack, direct).length === 2)
    slack.say(slack.ada, direct, 'two')
    await stage.answer(direct, 'turn 1: two')
    await first.stop('SIGKILL')
    await stage.start()
    slack.say(slack.ada, direct, 'three')
    await stage.answer(direct, 'turn 2: three')
    expect(finals(slack, direct)).toHaveLength(4)
  })

  test('while only the connection was lost, too; a connection that is replaced has no gap', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const gateway = await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, 'one')
    await stage.answer(direct, 'turn 1: one')
    const looked = () => slack.requests('conversations.history').length
    const before = looked()
    slack.disconnect('refresh_requested', 1000)
    await slack.until(() => slack.opened() === 2)
    slack.say(slack.ada, direct, 'two')
    await stage.answer(direct, 'turn 2: two')
    await slack.until(() => slack.connections() === 1)
    expect(looked()).toBe(before)
    slack.disconnect('warning', 60_000)
    await slack.until(() => slack.opened() === 3)
    slack.offline(true)
    slack.say(slack.ada, direct, 'three')
    await eventually('it notices', () => /"chat":"slack".*chat lost/.test(gateway.output()))
    slack.offline(false)
    await stage.answer(direct, 'turn 3: three', 15_000)
    expect(looked()).toBeGreaterThan(before)
    expect(stage.home.begun()).toHaveLength(3)
  })
})

describe('an envelope', () => {
  test('is confirmed when it is on disk, and only then; repeated ones are one message', async () => {
    await using stage = await openStage({ repeats: true, ackMs: 400 })
    const { slack } = stage
    const gateway = await stage.start()
    slack.say(slack.ada, slack.general, 'hello', { mention: true })
    await stage.answer(slack.general, 'turn 1: hello')
    await slack.until(() => slack.envelopes().length >= 2)
    expect(slack.envelopes().every(({ acknowledgedAfterMs }) => acknowledgedAfterMs !== null)).toBe(true)
    // Confirmations that do not arrive: Slack repeats them.
    slack.ignoreConfirmations(true)
    slack.say(slack.ada, slack.general, 'again', { mention: true })
    await stage.answer(slack.general, 'turn 1: again')
    await pause(1000)
    slack.ignoreConfirmations(false)
    await slack.until(() => slack.envelopes().some(({ attempt }) => attempt > 1))
    const help = slack.slash(slack.ada, slack.general, 'help')
    await slack.until(() => help.responses.length > 0)
    await pause(300)
    expect(help.responses).toHaveLength(1)
    expect(stage.home.begun()).toHaveLength(2)
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
  })
})

describe('posting', () => {
  const troubles = [
    ['a 502 after it was stored', { status: 502, storeFirst: true }],
    ['a connection cut after it was stored', { cut: true, storeFirst: true }],
    ['an internal error after it was stored', { error: 'internal_error', storeFirst: true }],
    ['an outage', { status: 503, times: 2 }],
    ['too many requests', { status: 429, retryAfter: 1 }],
  ] as const
  test.each(troubles)('%s: the answer is there once', async (_, failure) => {
    await using stage = await openStage()
    const { slack } = stage
    const gateway = await stage.start()
    const direct = slack.dm(slack.ada)
    slack.fail('chat.postMessage', failure)
    slack.say(slack.ada, direct, '[[say:Done.]]')
    await stage.answer(direct, 'Done.', 20_000)
    slack.say(slack.ada, direct, '[[say:Done.]]')
    await slack.until(() => finals(slack, direct).length === 2, 20_000)
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
    await pause(300)
    expect(finals(slack, direct)).toHaveLength(2)
    if ('retryAfter' in failure) {
      const [refused, later] = slack.requests('chat.postMessage')
      expect((later?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(990)
    }
  })

  test('killed between the post and its mark, it is found again by its key', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const first = await stage.start()
    const direct = slack.dm(slack.ada)
    // Stored by Slack, but the answer never comes.
    slack.fail('chat.postMessage', { cut: true, storeFirst: true })
    slack.say(slack.ada, direct, '[[say:Done.]]')
    await slack.until(() => finals(slack, direct).length === 1)
    await first.stop('SIGKILL')
    const second = await stage.start()
    await eventually('all is dealt with', async () => (await unaccounted(second)) === 0)
    await eventually('it was looked for', () =>
      slack.requests('conversations.history').some(({ args }) => args.include_all_metadata === 'true'),
    )
    slack.say(slack.ada, direct, 'next')
    await stage.answer(direct, ': next')
    expect(finals(slack, direct)).toHaveLength(2)
  })

  test('long answers come in pieces, very long ones as a file; fences stay closed', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, '[[long:2000]]')
    await slack.until(() => finals(slack, direct).length >= 3, 10_000)
    for (const { text, blocks } of finals(slack, direct)) {
      expect(text.length).toBeLessThanOrEqual(4000)
      expect(blocks[0]?.type).toBe('markdown')
    }
    slack.say(slack.ada, slack.general, '[[long:4000]]', { mention: true })
    await stage.answer(slack.general, 'the file contains all of it')
    const [file] = await slack.until(() => slack.answers(slack.general).find(({ files }) => files.length > 0)?.files)
    expect(file).toMatchObject({ name: 'answer.md' })
    expect(file?.bytes.length).toBeGreaterThan(19_000)
  })

  test('a draft that can no longer be edited is removed, and the answer is posted', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, 'work [[tool:1500]]')
    await slack.until(() => drafts(slack, direct).length === 1, 10_000)
    slack.fail('chat.update', { error: 'cant_update_message', times: 50 })
    await stage.answer(direct, 'turn 1: work')
    await eventually('the draft is gone', () => drafts(slack, direct).length === 0)
    expect(slack.answers(direct)).toHaveLength(1)
  })

  test('a server without streams and statuses gets drafts', async () => {
    await using stage = await openStage({ without: ['chat.startStream', 'assistant.threads.setStatus'] })
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    const root = slack.say(slack.ada, direct, 'one')
    await stage.answer(direct, 'turn 1: one')
    slack.say(slack.ada, direct, 'work [[tool:2000]]', { thread: root.ts })
    expect((await stage.answer(direct, 'turn 1: work')).thread).toBe(root.ts)
  })
})
