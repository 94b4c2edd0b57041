// Slash commands, their completion, and threads opened by the bot.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'

describe('slash commands', () => {
  test('they are registered once, and again only when they have changed', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const first = await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const names = discord.commands().registered.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['claude', 'ask', 'claude-reset', 'new', 'stop', 'status', 'model']))
    await first.stop()
    const second = await stage.start()
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await stage.answer(discord.general, 'turn 1')
    expect(discord.commands().puts).toBe(1)
    await second.stop()
  })

  // GR 3.2
  test('/claude works like a message, and is answered in place', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const asked = await discord.slash(discord.ada, discord.general, 'claude', { prompt: 'what is /stop ?' })
    expect(asked).toMatchObject({ first: 'deferred', ephemeral: false })
    await discord.until(() => asked.original?.content === 'turn 1: what is /stop ?')
    expect(finals(discord, discord.general)).toHaveLength(1)
  })

  test('a long answer begins in place and continues in the channel; a draft has its button', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ CLAUDE_STAND_IN_STEP_MS: '5' })
    await discord.until(() => discord.commands().puts === 1)
    const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: '[[long:600]]' })
    await discord.until(() => JSON.stringify(asked.original?.components ?? []).includes('stop'))
    await discord.until(() => finals(discord, discord.general).length === 2)
    expect(asked.original?.components).toEqual([])
    const words = finals(discord, discord.general).map(({ content }) => content.trim())
    expect(words.join(' ').split(' ')).toHaveLength(600)
  })

  test('an answer after the token has expired goes to the channel', async () => {
    let ahead = 0
    await using stage = await openStage({ now: () => Date.now() + ahead })
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: 'late [[tool:1500]]' })
    expect(asked.first).toBe('deferred')
    ahead = 16 * 60_000
    const answer = await stage.answer(discord.general, 'turn 1: late')
    expect(answer.type).toBe(0)
  })

  test('a draft whose token has expired still becomes the answer, without its button', async () => {
    let ahead = 0
    await using stage = await openStage({ now: () => Date.now() + ahead })
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: 'late [[tool:2500]]' })
    const draft = await discord.until(() => asked.original)
    expect(JSON.stringify(draft.components)).toContain('stop')
    ahead = 16 * 60_000
    const answer = await stage.answer(discord.general, 'turn 1: late')
    expect(answer).toMatchObject({ id: draft.id, components: [] })
    expect(discord.answers(discord.general)).toHaveLength(1)
  })

  test('a file is passed along for people who may speak; a refused one leaves nothing behind', async () => {
    await using stage = await openStage()
    const { discord, home } = stage
    await stage.start({ MAX_CONCURRENT_QUERIES: '1' })
    await discord.until(() => discord.commands().puts === 1)
    const file = { name: 'notes.txt', bytes: 'hello', type: 'text/plain' }
    const ask = (who = discord.ada, where = discord.general, prompt = 'read it') =>
      discord.slash(who, where, 'ask', { prompt, file })
    const kept = ({ id }: { id: string }) => join(home.configDir, 'files/in', id, 'notes.txt')

    const asked = await ask()
    await discord.until(() => asked.original?.content === 'turn 1: read it')
    expect(home.begun()[0]?.prompt).toContain(`[Attached: files/in/${asked.id}/notes.txt (text/plain, 5 bytes)]`)
    expect(readFileSync(kept(asked), 'utf8')).toBe('hello')

    expect(existsSync(kept(await ask(discord.user('eve'))))).toBe(false)
    await ask(discord.ada, discord.general, 'wait [[tool:3000]]')
    const busy = await ask(discord.ada, discord.dm(discord.ada))
    expect(busy).toMatchObject({ first: 'message', ephemeral: true })
    expect(existsSync(kept(busy))).toBe(false)
  })

  test('a slow download is waited for, after the command was acknowledged', async () => {
    await using stage = await openStage()
    const { discord, home } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    discord.fail('GET /attachments/:channel/:id/:name', { delayMs: 3500 })
    const file = { name: 'slow.txt', bytes: 'hello', type: 'text/plain' }
    const asked = await discord.slash(discord.ada, discord.general, 'ask', { prompt: 'read it', file })
    expect(asked.first).toBe('deferred')
    expect(home.begun()).toHaveLength(0)
    await discord.until(() => asked.original?.content === 'turn 1: read it')
    expect(home.begun()[0]?.prompt).toContain('slow.txt (text/plain, 5 bytes)]')
  })

  // GR 6.3
  test('/claude-reset starts a new conversation in this channel only', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const other = discord.channel(discord.home, 'other')
    await stage.start()
    for (const channel of [discord.general, other]) {
      discord.say(discord.ada, channel, 'one', { mention: true })
      await stage.answer(channel, 'turn 1: one')
    }
    const asked = await discord.slash(discord.ada, discord.general, 'claude-reset')
    expect((await asked.whole()).content).toContain('new conversation')
    for (const channel of [discord.general, other]) discord.say(discord.ada, channel, 'two', { mention: true })
    await stage.answer(discord.general, 'turn 1: two')
    await stage.answer(other, 'turn 2: two')
  })

  test('other commands answer immediately, even while a turn runs; /stop ends it', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.say(discord.ada, discord.general, 'wait [[tool:20000]]', { mention: true })
    await eventually('it runs', () => stage.home.begun().length === 1)
    const status = await discord.slash(discord.ada, discord.general, 'status')
    expect((await status.whole()).content).toContain('1 running')
    const stopped = await discord.slash(discord.ada, discord.general, 'stop')
    expect((await stopped.whole()).content).toBe('Stopping.')
    await stage.answer(discord.general, 'Stopped.')
  })

  test('answers to commands are visible only to the user, those of the agent to everybody', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const names = discord.commands().registered.map(({ name }) => name)
    const forTheAgent = ['ask', 'claude', 'continue']
    for (const name of names.filter(one => !forTheAgent.includes(one))) {
      const asked = await discord.slash(discord.ada, discord.general, name)
      expect({ name, ...asked }).toMatchObject({ name, first: 'deferred', ephemeral: true })
      await asked.whole()
    }
    expect(discord.messages(discord.general)).toEqual([])
    for (const name of ['ask', 'claude']) {
      const asked = await discord.slash(discord.ada, discord.general, name, { prompt: 'hello' })
      expect(asked).toMatchObject({ first: 'deferred', ephemeral: false })
    }
    await stage.answer(discord.general, 'turn 2: hello')
    // In a direct message nobody else can see it, so it is not hidden.
    const direct = await discord.slash(discord.ada, discord.dm(discord.ada), 'status')
    expect(direct).toMatchObject({ first: 'deferred', ephemeral: false })
  })

  test.each([
    [
      'too late for Discord',
      'POST /interactions/:id/:token/callback',
      { code: 10_062, message: 'Unknown interaction' },
    ],
    [
      'when its place is gone',
      'PATCH /webhooks/:app/:token/messages/:id',
      { code: 10_015, message: 'Unknown Webhook' },
    ],
  ])('a private answer is not shown to everybody if it comes %s', async (_, request, body) => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    discord.fail(request, { status: 404, body, times: 100 })
    discord.fail('POST /webhooks/:app/:token', { status: 404, body, times: 100 })
    await discord.slash(discord.ada, discord.general, 'usage')
    await stage.answer(discord.general, 'could not be shown to you alone')
    expect(discord.answers(discord.general)).toHaveLength(1)
  })

  test('a command is acknowledged in time, even if looking up its channel takes long', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await (await stage.start()).stop()
    // After a resume, Discord does not send the guilds again.
    discord.fail('GET /guilds/:id', { delayMs: 3500 })
    await stage.start()
    const asked = await discord.slash(discord.ada, discord.general, 'claude', { prompt: 'slowly' })
    expect(asked.first).not.toBeNull()
    expect((await asked.whole(10_000)).content).toBe('turn 1: slowly')
  })

  test('a stranger is refused privately', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    await discord.until(() => discord.commands().puts === 1)
    const eve = discord.user('eve')
    discord.member(discord.home, eve)
    const asked = await discord.slash(eve, discord.general, 'ask', { prompt: 'let me in' })
    expect(asked).toMatchObject({ first: 'message', ephemeral: true })
    expect(asked.original?.content).toMatch(/pair approve/)
    expect(finals(discord, discord.general)).toEqual([])
  })

  test('models and backends are completed for people who may speak', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ MODELS_CRON: 'codex/gpt-5' })
    await discord.until(() => discord.commands().puts === 1)
    const complete = async (command: string, value: string, who = discord.ada) =>
      (await discord.autocomplete(who, discord.general, command, { name: 'name', value })).choices.map(one => one.value)
    expect(await complete('backend', 'c')).toEqual(expect.arrayContaining(['claude', 'codex']))
    expect(await complete('model', 'gpt')).toEqual(['codex/gpt-5'])
    expect(await complete('backend', '', discord.user('eve'))).toEqual([])
  })
})

describe('threads of our own', () => {
  test('with THREADS=auto a mention opens one, in which the conversation continues', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ THREADS: 'auto' })
    const said = discord.say(discord.ada, discord.general, 'plan the party', { mention: true })
    const thread = await discord.until(() => discord.threads(discord.general)[0])
    expect(thread).toMatchObject({ id: said.id, name: 'plan the party' })
    await stage.answer(thread, 'turn 1: plan the party')
    discord.say(discord.ada, thread, 'and the cake')
    await stage.answer(thread, 'turn 2: and the cake')
    expect(finals(discord, discord.general)).toEqual([])
  })

  test('an edit before its thread is open is still answered in the thread', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ THREADS: 'auto', MAX_CONCURRENT_QUERIES: '1', BUSY: 'queue' })
    discord.say(discord.ada, discord.general, 'first [[tool:1000]]', { mention: true })
    await eventually('it runs', () => stage.home.begun().length === 1)
    const second = discord.say(discord.ada, discord.general, 'second', { mention: true })
    await discord.until(() => discord.requests().length > 0)
    discord.edit(second, `<@${discord.bot.id}> changed`)
    const thread = await discord.until(() => discord.threads(discord.general).find(({ id }) => id === second.id))
    await stage.answer(thread, 'turn 1: changed')
  })

  test('without permission to open a thread the answer is in the channel', async () => {
    await using stage = await openStage()
    const { discord } = stage
    discord.permissions(discord.general, ['CreatePublicThreads'])
    await stage.start({ THREADS: 'auto' })
    const said = discord.say(discord.ada, discord.general, 'plan', { mention: true })
    expect(await stage.answer(discord.general, 'turn 1: plan')).toMatchObject({ reference: said.id })
    discord.say(discord.ada, discord.general, 'from now on', { mention: true })
    await stage.answer(discord.general, 'turn 1: from now on')
    // The others are answered in the channel, and no further thread is attempted.
    discord.say(discord.ada, discord.general, 'and on', { mention: true })
    await stage.answer(discord.general, 'turn 2: and on')
    expect(discord.requests('POST /channels/:id/messages/:message/threads')).toHaveLength(1)
  })

  test('without permission to open a thread the Stop button still works', async () => {
    await using stage = await openStage()
    const { discord } = stage
    discord.permissions(discord.general, ['CreatePublicThreads'])
    await stage.start({ THREADS: 'auto', CLAUDE_STAND_IN_STEP_MS: '40' })
    discord.say(discord.ada, discord.general, `[[tool:100]] ${'word '.repeat(500)}`, { mention: true })
    const draft = await discord.until(() => discord.answers(discord.general).find(one => one.content.includes('word')))
    expect((await (await discord.click(discord.ada, draft, 'stop')).whole()).content).toBe('Stopping.')
    expect((await stage.answer(discord.general, '*Stopped.*')).id).toBe(draft.id)
  })
})
