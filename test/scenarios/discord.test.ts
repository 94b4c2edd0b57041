// The whole program on Discord: which messages are answered, how, and what people see otherwise.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually, exitOf, unaccounted } from '../fakes/temporary.ts'
import { finals, openStage } from '../harness/discord.ts'
import { runCommand, startGateway } from '../harness/gateway.ts'

describe('the connection', () => {
  // GR 1.1, 1.3
  test('it connects, and reports the bot’s name and the number of servers', async () => {
    await using stage = await openStage()
    stage.discord.guild('Another')
    const gateway = await stage.start()
    expect(gateway.output()).toMatch(/"bot":"aetheel","guilds":2,.*chat ready/)
    expect(stage.discord.connected()).toBe(1)
    expect(await gateway.stop()).toBe(0)
    expect(stage.discord.gateway('close').at(-1)?.detail).toMatchObject({ code: 4200 })
  })

  // GR 1.2
  test('without a token it does not start, and says where to get one', async () => {
    await using stage = await openStage()
    const run = runCommand(stage.home, ['start'], stage.settings({ DISCORD_BOT_TOKEN: '' }))
    expect(await run.exit).toBe(1)
    expect(run.stderr()).toMatch(/discord\.bot_token.*is not set.*discord\.com\/developers/)
  })

  // GR 1.2
  test('with a wrong token it does not start, tries once, and does not show the token', async () => {
    await using stage = await openStage()
    const token = 'a-token-that-is-wrong'
    const run = runCommand(stage.home, ['start'], stage.settings({ DISCORD_BOT_TOKEN: token, AGENT_BACKEND: 'echo' }))
    expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(1)
    expect(run.stderr()).toMatch(/aetheel: Discord does not accept the bot token.*Reset Token.*DISCORD_BOT_TOKEN/)
    expect(run.stdout() + run.stderr()).not.toContain(token)
    expect(run.stdout()).not.toContain('is ready')
    expect(stage.discord.requests().length).toBeLessThan(3)
  })

  test('for an intent that is off in the portal it says where to click; with the option off, it starts', async () => {
    await using stage = await openStage({ denied: ['MessageContent'] })
    const run = runCommand(stage.home, ['start'], stage.settings({ AGENT_BACKEND: 'echo' }))
    expect(await exitOf({ exit: run.exit, output: run.stderr })).toBe(1)
    expect(run.stderr()).toMatch(/Message Content Intent.*Privileged Gateway Intents.*DISCORD_MESSAGE_CONTENT=false/)
    await stage.start({ DISCORD_MESSAGE_CONTENT: 'false' })
    const thread = stage.discord.thread(stage.discord.general, 'a thread', { joined: true })
    stage.discord.say(stage.discord.ada, thread, 'not heard')
    stage.discord.say(stage.discord.ada, thread, 'heard', { mention: true })
    await stage.answer(thread, 'turn 1: heard')
    expect(finals(stage.discord, thread)).toHaveLength(1)
  })

  test('a token revoked while it runs stops it with an explanation', async () => {
    await using stage = await openStage()
    const gateway = await stage.start()
    stage.discord.changeToken('another')
    stage.discord.dropConnection()
    expect(await exitOf(gateway)).toBe(1)
    expect(gateway.output()).toContain('Discord does not accept the bot token')
  })

  test('while Discord is off, nothing of it is loaded or requested', async () => {
    await using stage = await openStage()
    const watch = `import { registerHooks } from 'node:module'
      registerHooks({ load: (url, context, next) => {
        if (/discordjs|discord-api|chat.discord.adapter/.test(url)) process.stderr.write('LOADED ' + url + '\\n')
        return next(url, context)
      } })`
    const watching = ['--import', `data:text/javascript,${encodeURIComponent(watch)}`]
    const off = await startGateway(stage.home, stage.settings({ DISCORD: 'false' }), undefined, watching)
    await off.stop()
    expect(off.output()).not.toContain('LOADED')
    expect(stage.discord.requests()).toEqual([])
    const on = await startGateway(stage.home, stage.settings(), undefined, watching)
    expect(on.output()).toContain('LOADED')
  })
})

describe('what it answers', () => {
  // GR 3.1, 5.1
  test('a mention, by name or by role, is answered as a reply that pings nobody else', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    const said = discord.say(discord.ada, discord.general, 'hello @everyone', { mention: true })
    const answer = await stage.answer(discord.general, 'turn 1: hello')
    expect(answer).toMatchObject({ reference: said.id, pinged: { everyone: false, roles: [] } })
    expect(answer.allowedMentions).toEqual({ parse: [], replied_user: true })
    discord.say(discord.ada, discord.general, `and you, <@&${discord.botRole(discord.home).id}>?`)
    await stage.answer(discord.general, 'turn 2: and you, ?')
  })

  test('direct messages, replies to us and threads we are in need no mention; other messages are ignored', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    discord.say(discord.ada, discord.general, 'just talking')
    const direct = discord.dm(discord.ada)
    discord.say(discord.ada, direct, 'in private')
    const answer = await stage.answer(direct, 'turn 1: in private')
    discord.say(discord.ada, direct, 'more', { replyTo: answer })
    await stage.answer(direct, 'turn 2: more')

    const thread = discord.thread(discord.general, 'a thread')
    discord.say(discord.ada, thread, 'not yet')
    discord.say(discord.ada, thread, 'now you', { mention: true })
    await stage.answer(thread, 'turn 1: now you')
    discord.say(discord.ada, thread, 'and on')
    await stage.answer(thread, 'turn 2: and on')

    const called = discord.say(discord.ada, discord.general, 'over here', { mention: true })
    const reply = await stage.answer(discord.general, 'turn 1: over here')
    discord.say(discord.ada, discord.general, 'without a ping', { replyTo: reply, ping: false })
    await stage.answer(discord.general, 'turn 2: without a ping')
    expect(called.id).toBe(reply.reference)
    expect(stage.home.begun()).toHaveLength(6)
  })

  test('removed from a thread, it is silent there until it is mentioned again', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    const thread = discord.thread(discord.general, 'a thread', { joined: true })
    discord.say(discord.ada, thread, 'one')
    await stage.answer(thread, 'turn 1: one')
    discord.expel(thread)
    discord.say(discord.ada, thread, 'among ourselves')
    discord.say(discord.ada, thread, 'two', { mention: true })
    await stage.answer(thread, 'turn 2: two')
    expect(stage.home.begun()).toHaveLength(2)
  })

  // GR 3.3
  test('messages of bots, webhooks and ourselves are ignored', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start()
    const robot = discord.user('robot', { bot: true })
    discord.member(discord.home, robot)
    discord.say(robot, discord.general, 'from a bot', { mention: true })
    discord.say(discord.ada, discord.general, 'from a webhook', { mention: true, webhook: true })
    discord.say(discord.ada, discord.general, 'from a person', { mention: true })
    await stage.answer(discord.general, 'turn 1: from a person')
    expect(stage.home.begun()).toHaveLength(1)
  })

  test('the prompt says who wrote the message and where', async () => {
    await using stage = await openStage()
    const { discord } = stage
    await stage.start({ ALLOWED_CHANNELS: discord.general.id })
    const bob = discord.user('bob')
    discord.member(discord.home, bob)
    discord.say(discord.ada, discord.general, 'mine', { mention: true })
    await stage.answer(discord.general, 'turn 1: mine')
    discord.say(bob, discord.general, 'his', { mention: true })
    // A guest has a session of his own, which is told what was said before.
    await stage.answer(discord.general, 'turn 1: his')
    const [first, second] = stage.home.begun()
    expect(first?.prompt).toContain(`(discord user ${discord.ada.id}), the owner, in #general of Our Server]`)
    expect(second?.prompt).toContain(`[From Bob (discord user ${bob.id}), not the owner, in #general of Our Server]`)
  })

  test('a stranger gets one code, and their messages reach nobody', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const gateway = await stage.start()
    const eve = discord.user('eve')
    discord.member(discord.home, eve)
    for (const text of ['let me in', 'please', 'now']) discord.say(eve, discord.general, text, { mention: true })
    const refusal = await stage.answer(discord.general, 'pair approve')
    discord.say(discord.ada, discord.general, 'hello', { mention: true })
    await stage.answer(discord.general, 'turn 1: hello')
    expect(finals(discord, discord.general)).toHaveLength(2)
    expect(refusal.content).toMatch(/give this code to the owner/)
    expect(stage.home.begun()).toHaveLength(1)
    expect(gateway.output()).toMatch(/"why":"stranger".*"see":"npx aetheel pair list"/)
  })

  test('an edit changes a waiting message, and deleting it cancels it', async () => {
    await using stage = await openStage()
    const { discord } = stage
    const gateway = await stage.start()
    discord.say(discord.ada, discord.general, 'first [[tool:1500]]', { mention: true })
    const second = discord.say(discord.ada, discord.general, 'second', { mention: true })
    const attachments = [{ name: 'a.txt', bytes: 'theirs' }]
    const third = discord.say(discord.ada, discord.general, 'third', { mention: true, attachments })
    await eventually('its file is there', () => existsSync(join(stage.home.configDir, 'files/in', third.id, 'a.txt')))
    await eventually('the first runs', () => stage.home.begun().length === 1)
    await discord.until(() => gateway.output().includes('Read') || stage.home.begun().length === 1)
    discord.unfurl(second)
    discord.edit(second, `<@${discord.bot.id}> changed`)
    discord.remove(third)
    // Deleting a message also deletes its files.
    await eventually('its file is gone', () => !existsSync(join(stage.home.configDir, 'files/in', third.id)))
    await stage.answer(discord.general, 'turn 2: changed')
    await eventually('all is dealt with', async () => (await unaccounted(gateway)) === 0)
    expect(stage.home.begun().map(({ prompt }) => prompt.split('\n').at(-1))).toEqual([
      'first [[tool:1500]]',
      'changed',
    ])
  })
})
