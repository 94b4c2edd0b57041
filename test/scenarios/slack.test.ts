// The whole program on Slack: what is heard, how it is answered, and what people are told when it is not.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually, exitOf, unaccounted } from '../fakes/temporary.ts'
import { runCommand, startGateway } from '../harness/gateway.ts'
import { drafts, finals, openStage } from '../harness/slack.ts'

describe('the connection', () => {
  test('it comes up, and says as whom', async () => {
    await using stage = await openStage()
    const gateway = await stage.start()
    await eventually('it says so', () => /"chat":"slack","bot":"aetheel".*chat ready/.test(gateway.output()))
    expect(stage.slack.connections()).toBe(1)
    expect(await gateway.stop()).toBe(0)
    await eventually('the connection is closed', () => stage.slack.connections() === 0)
  })

  test('without the tokens it does not start, and says where to get them', async () => {
    await using stage = await openStage()
    const run = runCommand(stage.home, ['start'], stage.settings({ SLACK_BOT_TOKEN: '', SLACK_APP_TOKEN: '' }))
    expect(await run.exit).toBe(1)
    expect(run.stderr()).toMatch(/slack\.bot_token.*is not set.*api\.slack\.com\/apps/)
    expect(run.stderr()).toMatch(/slack\.app_token.*is not set.*App-Level Tokens/)
  })

  test.each([
    ['SLACK_BOT_TOKEN', /Slack does not accept the bot token.*SLACK_BOT_TOKEN/],
    ['SLACK_APP_TOKEN', /Slack does not accept the app-level token.*SLACK_APP_TOKEN/],
  ])('with a wrong %s it does not start, and does not show it', async (variable, words) => {
    await using stage = await openStage()
    const token = 'xoxb-a-token-that-is-wrong'
    const run = runCommand(stage.home, ['start'], stage.settings({ [variable]: token, AGENT_BACKEND: 'echo' }))
    expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(1)
    expect(run.stderr()).toMatch(words)
    expect(run.stdout() + run.stderr()).not.toContain(token)
    expect(stage.slack.requests().length).toBeLessThan(3)
  })

  test.each(['token_revoked', 'account_inactive'])(
    'a token that is taken back (%s) ends it, with words',
    async code => {
      await using stage = await openStage()
      const gateway = await stage.start()
      stage.slack.revoke(code)
      stage.slack.say(stage.slack.ada, stage.slack.general, 'hello', { mention: true })
      expect(await exitOf(gateway)).toBe(1)
      expect(gateway.output()).toContain('Slack does not accept the bot token')
    },
  )

  test('Socket Mode that is switched off ends it, with where to click', async () => {
    await using stage = await openStage()
    const gateway = await stage.start()
    stage.slack.disconnect('link_disabled')
    expect(await exitOf(gateway)).toBe(1)
    expect(gateway.output()).toMatch(/Socket Mode is off.*Enable Socket Mode/)
  })

  test('nothing of Slack is loaded or asked while it is off', async () => {
    await using stage = await openStage()
    const watch = `import { registerHooks } from 'node:module'
      registerHooks({ load: (url, context, next) => {
        if (/chat.slack.adapter/.test(url)) process.stderr.write('LOADED ' + url + '\\n')
        return next(url, context)
      } })`
    const watching = ['--import', `data:text/javascript,${encodeURIComponent(watch)}`]
    const off = await startGateway(stage.home, stage.settings({ SLACK: 'false' }), undefined, watching)
    await off.stop()
    expect(off.output()).not.toContain('LOADED')
    expect(stage.slack.requests()).toEqual([])
    const on = await startGateway(stage.home, stage.settings(), undefined, watching)
    expect(on.output()).toContain('LOADED')
  })
})

describe('what is heard', () => {
  test('a mention is answered once, in a thread, which is a conversation of its own', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const said = slack.say(slack.ada, slack.general, 'hello &lt;!channel&gt;', { mention: true })
    const answer = await stage.answer(slack.general, 'turn 1: hello')
    expect(answer.thread).toBe(said.ts)
    // Nobody is notified by what a model says.
    expect(answer.text).toContain('&lt;!channel&gt;')
    expect(JSON.stringify(answer.blocks)).not.toContain('<!channel>')
    slack.say(slack.ada, slack.general, 'and on', { thread: said.ts })
    await stage.answer(slack.general, 'turn 2: and on')
    slack.say(slack.ada, slack.general, 'something else', { mention: true })
    await stage.answer(slack.general, 'turn 1: something else')
    slack.say(slack.ada, slack.general, 'just talking')
    const quiet = slack.say(slack.ada, slack.general, 'a thread of people')
    slack.say(slack.ada, slack.general, 'among ourselves', { thread: quiet.ts })
    slack.say(slack.ada, slack.general, 'now you', { thread: quiet.ts, mention: true })
    expect((await stage.answer(slack.general, 'turn 1: now you')).thread).toBe(quiet.ts)
    expect(stage.home.begun()).toHaveLength(4)
  })

  test('with SLACK_THREADS=off a channel is one conversation', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start({ SLACK_THREADS: 'off' })
    slack.say(slack.ada, slack.general, 'one', { mention: true })
    expect((await stage.answer(slack.general, 'turn 1: one')).thread).toBeNull()
    slack.say(slack.ada, slack.general, 'two', { mention: true })
    await stage.answer(slack.general, 'turn 2: two')
  })

  test('direct messages need no mention, and a thread with the assistant is streamed, with a status', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    const root = slack.say(slack.ada, direct, 'in private')
    expect((await stage.answer(direct, 'turn 1: in private')).thread).toBeNull()
    slack.say(slack.ada, direct, 'to the assistant [[tool:2500]] [[slow]]', { thread: root.ts })
    const answer = await stage.answer(direct, 'turn 1: to the assistant', 15_000)
    expect(answer).toMatchObject({ thread: root.ts, streaming: false })
    expect(slack.statuses().some(({ thread, status }) => thread === root.ts && status !== '')).toBe(true)
    await eventually('the status is cleared', () => slack.statuses().at(-1)?.status === '')
  })

  test('bots, notices and we ourselves are not listened to', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const robot = slack.user('robot', { bot: true })
    slack.invite(slack.general, robot)
    slack.say(robot, slack.general, 'from a bot', { mention: true })
    slack.say(slack.ada, slack.general, 'has joined', { mention: true, subtype: 'channel_join' })
    slack.say(slack.ada, slack.general, 'from a person', { mention: true })
    await stage.answer(slack.general, 'turn 1: from a person')
    expect(stage.home.begun()).toHaveLength(1)
  })

  test('who wrote it, and where, stands above the words, which are as they were typed', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start({ ALLOWED_CHANNELS: `slack:${slack.general.id}` })
    const bob = slack.user('bob')
    slack.invite(slack.general, bob)
    const typed = `ask <@${bob.id}> in <#C1|random> about <https://example.com|this> if 1 &lt; 2 &amp;&amp; 3`
    slack.say(slack.ada, slack.general, typed, { mention: true })
    await stage.answer(slack.general, 'turn 1')
    slack.say(bob, slack.general, 'his', { mention: true })
    await stage.answer(slack.general, 'turn 1: his')
    const [first, second] = stage.home.begun()
    expect(first?.prompt).toContain(`(slack user ${slack.ada.id}), the owner, in #general of Our Workspace]`)
    expect(first?.prompt.replaceAll('\u2060', '')).toContain(
      'ask @bob in #random about this (https://example.com) if 1 < 2 && 3',
    )
    expect(second?.prompt).toContain(`(slack user ${bob.id}), not the owner`)
  })

  test('a stranger is told once how to be let in, alone, and reaches nobody', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const gateway = await stage.start()
    const eve = slack.user('eve')
    slack.invite(slack.general, eve)
    for (const text of ['let me in', 'please', 'now']) slack.say(eve, slack.general, text, { mention: true })
    await slack.until(() => slack.ephemerals(eve).length > 0)
    slack.say(slack.ada, slack.general, 'hello', { mention: true })
    await stage.answer(slack.general, 'turn 1: hello')
    expect(finals(slack, slack.general)).toHaveLength(1)
    const [told, ...more] = slack.ephemerals(eve)
    expect(more).toEqual([])
    expect(told?.text).toMatch(/give this code to the owner/)
    const code = /\*\*([^*]+)\*\*/.exec(told?.text ?? '')?.[1] ?? ''
    expect(await runCommand(stage.home, ['pair', 'approve', code], stage.settings()).exit).toBe(0)
    slack.say(eve, slack.general, 'thank you', { mention: true })
    await stage.answer(slack.general, 'turn 1: thank you')
    expect(gateway.output()).toMatch(/"why":"stranger"/)
  })

  test('a waiting message follows its edits, and is cancelled with its deletion', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const gateway = await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, 'first [[tool:1500]]')
    const second = slack.say(slack.ada, direct, 'second')
    const third = slack.say(slack.ada, direct, 'third', { files: [{ name: 'a.txt', bytes: 'theirs' }] })
    const folder = join(stage.home.configDir, 'files/in', `slack-${direct.id}-${third.ts}`)
    await eventually('its file is there', () => existsSync(join(folder, 'a.txt')))
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('theirs')
    await eventually('the first runs', () => stage.home.begun().length === 1)
    slack.unfurl(direct, second.ts)
    slack.edit(direct, second.ts, 'changed')
    slack.remove(direct, third.ts)
    await eventually('its file is gone', () => !existsSync(folder))
    await stage.answer(direct, 'turn 2: changed')
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
    expect(stage.home.begun().map(({ prompt }) => prompt.split('\n').at(-1))).toEqual([
      'first [[tool:1500]]',
      'changed',
    ])
  })
})

describe('how it is answered', () => {
  test('a draft with a Stop button, then the final in its place; only those who may can stop', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const eve = slack.user('eve')
    slack.invite(slack.general, eve)
    slack.say(slack.ada, slack.general, 'work [[tool:20000]]', { mention: true })
    const draft = await slack.until(() => drafts(slack, slack.general)[0], 10_000)
    const refused = slack.press(eve, draft)
    await slack.until(() => refused.responses.length > 0)
    expect(refused.responses[0]).toMatchObject({ ephemeral: true, text: expect.stringContaining('code') })
    expect(drafts(slack, slack.general)).toHaveLength(1)
    const stopped = slack.press(slack.ada, draft)
    await slack.until(() => stopped.responses.length > 0)
    expect(stopped.responses[0]?.ephemeral).toBe(true)
    const final = await slack.until(() => finals(slack, slack.general)[0], 10_000)
    expect(final.ts).toBe(draft.ts)
    expect(slack.answers(slack.general)).toHaveLength(1)
  })

  test('beside a stream, and before there is any text, there is a Stop button as well; it disappears with the answer', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    const root = slack.say(slack.ada, direct, 'work [[tool:20000]]')
    const draft = await slack.until(() => drafts(slack, direct)[0], 10_000)
    const stopped = slack.press(slack.ada, draft)
    await slack.until(() => stopped.responses.length > 0)
    await slack.until(() => finals(slack, direct).length === 1, 10_000)

    slack.say(slack.ada, direct, 'more work [[tool:20000]]', { thread: root.ts })
    const note = await slack.until(() => drafts(slack, direct).find(({ thread }) => thread === root.ts), 10_000)
    expect(note.text).toBe('Working on it.')
    slack.press(slack.ada, note)
    await slack.until(() => finals(slack, direct).length === 2, 10_000)
    await eventually('the note is gone', () => slack.answers(direct).length === 2)
  })

  test('commands: by slash, alone; typed after a mention or with an exclamation mark; also while a turn runs', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, 'work [[tool:3000]]')
    await eventually('it runs', () => stage.home.begun().length === 1)
    const status = slack.slash(slack.ada, slack.general, 'status')
    await slack.until(() => status.responses.length > 0)
    expect(status.responses[0]).toMatchObject({ ephemeral: true, text: expect.stringMatching(/running|waiting/i) })
    const help = slack.slash(slack.ada, slack.general, '')
    await slack.until(() => help.responses.length > 0)
    expect(help.responses[0]?.text).toContain('/status')
    slack.say(slack.ada, direct, '!help')
    await stage.answer(direct, '/status')
    expect(finals(slack, direct)).toHaveLength(1)
    const asked = slack.slash(slack.ada, slack.general, 'what is up?')
    await slack.until(() => asked.responses.length > 0, 10_000)
    expect(asked.responses).toEqual([{ ephemeral: false, text: expect.stringContaining('turn 1: what is up?') }])
    await stage.answer(direct, 'turn 1: work')
  })

  test('files of an answer are uploaded behind its text, pictures as pictures', async () => {
    await using stage = await openStage()
    const { slack } = stage
    await stage.start()
    const direct = slack.dm(slack.ada)
    slack.say(slack.ada, direct, 'one', { files: [{ name: 'pic.png', bytes: 'PNG', type: 'image/png' }] })
    await stage.answer(direct, 'turn 1')
    const [first] = stage.home.begun()
    const path = /files\/in\/[^\s)\]]*pic\.png/.exec(first?.prompt ?? '')?.[0] ?? ''
    slack.say(slack.ada, direct, `[[say:Here: [the picture](${path})]]`)
    await stage.answer(direct, 'Here: the picture')
    const shared = await slack.until(() => slack.answers(direct).find(({ files }) => files.length > 0))
    expect(shared.files[0]).toMatchObject({ name: 'pic.png', type: 'image/png', bytes: Buffer.from('PNG') })
    expect(slack.requests('files.completeUploadExternal')).toHaveLength(1)
  })

  test('blocks that Slack refuses become plain text; a channel we were removed from is reported once', async () => {
    await using stage = await openStage()
    const { slack } = stage
    const gateway = await stage.start()
    const direct = slack.dm(slack.ada)
    slack.fail('chat.postMessage', { error: 'invalid_blocks' })
    slack.say(slack.ada, direct, 'plain')
    const plain = await stage.answer(direct, 'turn 1: plain')
    expect(plain.blocks).toEqual([])
    slack.say(slack.ada, slack.general, 'work [[tool:500]]', { mention: true })
    await eventually('it runs', () => stage.home.begun().length === 2)
    slack.kick(slack.general)
    await eventually('it is refused', () => /I am not in that channel/.test(gateway.output()))
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
  })
})
