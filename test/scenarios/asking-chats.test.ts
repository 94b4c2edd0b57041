// The agent asks in a chat: buttons, who may click them, and what becomes of the message.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Channel as DiscordChannel, StoredMessage as DiscordMessage } from '../fakes/discord/index.ts'
import type { Channel as SlackChannel } from '../fakes/slack/index.ts'
import type { Chat } from '../fakes/telegram/index.ts'
import { eventually } from '../fakes/temporary.ts'
import { openStage as openDiscordStage } from '../harness/discord.ts'
import { asked, decide, requestsOf } from '../harness/requests.ts'
import { openStage as openSlackStage } from '../harness/slack.ts'
import { openStage as openTelegramStage } from '../harness/telegram.ts'

test('Discord: allow once, always here, deny, deny with a reason; the message says what became of it', async () => {
  await using stage = await openDiscordStage()
  const { discord, home } = stage
  const gateway = await stage.start()
  const dm = discord.dm(discord.ada)
  const file = (name: string) => join(home.dir, name)
  const say = (command: string) => discord.say(discord.ada, dm, `[[ask:Bash:${command}]]`)
  const messageOf = async (channel: DiscordChannel, words: string, button: string): Promise<DiscordMessage> =>
    discord.until(() =>
      discord
        .answers(channel)
        .find(({ content, components }) => content.includes(words) && JSON.stringify(components).includes(button)),
    )

  say(`touch ${file('once')}`)
  const once = await asked(gateway, file('once'))
  const message = await messageOf(dm, `touch ${file('once')}`, `request:${once.id}:once`)
  expect(existsSync(file('once'))).toBe(false)
  await discord.click(discord.ada, message, `request:${once.id}:once`)
  await eventually('it ran', () => existsSync(file('once')))
  await discord.until(() => discord.message(message.id)?.content.includes('Allowed by'))
  expect(discord.message(message.id)?.components).toEqual([])

  say(`touch ${file('always')}`)
  const always = await asked(gateway, file('always'))
  await discord.click(
    discord.ada,
    await messageOf(dm, file('always'), `request:${always.id}:here`),
    `request:${always.id}:here`,
  )
  await stage.answer(dm, 'turn 2')
  say(`touch ${file('always')}`)
  await stage.answer(dm, 'turn 3')

  say(`touch ${file('denied')}`)
  const denied = await asked(gateway, file('denied'))
  await discord.click(
    discord.ada,
    await messageOf(dm, file('denied'), `request:${denied.id}:deny`),
    `request:${denied.id}:deny`,
  )
  await stage.answer(dm, 'turn 4')

  say(`touch ${file('why')}`)
  const why = await asked(gateway, file('why'))
  const prompt = await messageOf(dm, file('why'), `request:${why.id}:why`)
  const dialog = await discord.click(discord.ada, prompt, `request:${why.id}:why`)
  expect(dialog.first).toBe('modal')
  await discord.submit(discord.ada, prompt, dialog, 'use the other disk')
  expect((await stage.answer(dm, 'turn 5')).content).toContain('use the other disk')
  await discord.until(() => discord.message(prompt.id)?.content.includes('use the other disk'))

  expect(['once', 'always', 'denied', 'why'].map(name => existsSync(file(name)))).toEqual([true, true, false, false])
  expect((await requestsOf(gateway, 'all')).map(({ state }) => state)).toEqual([
    'denied',
    'denied',
    'allowed',
    'allowed',
  ])
})

test('Discord: a guest’s and a stranger’s click change nothing and are told so; answered elsewhere, the message shows it', async () => {
  await using stage = await openDiscordStage()
  const { discord, home } = stage
  const [bob, eve] = [discord.user('Bob'), discord.user('Eve')]
  const gateway = await stage.start({ ALLOWED_USERS: `discord:${bob.id}` })
  const file = join(home.dir, 'x')
  discord.say(discord.ada, discord.general, `[[ask:Bash:touch ${file}]]`, { mention: true })
  const { id } = await asked(gateway)
  const message = await discord.until(() =>
    discord
      .answers(discord.general)
      .find(({ components }) => JSON.stringify(components).includes(`request:${id}:once`)),
  )
  for (const other of [bob, eve]) {
    const click = await discord.click(other, message, `request:${id}:once`)
    await discord.until(() => JSON.stringify([click.original, click.followUps]).includes('Your click changed nothing'))
  }
  expect((await requestsOf(gateway)).map(one => one.id)).toEqual([id])
  expect(existsSync(file)).toBe(false)
  await decide(gateway, id, { allow: true })
  await discord.until(() => discord.message(message.id)?.components.length === 0)
  expect(discord.message(message.id)?.content).toContain('Allowed')
  await eventually('it ran', () => existsSync(file))
})

test('Discord: an approver may allow once, but not for always', async () => {
  await using stage = await openDiscordStage()
  const { discord, home } = stage
  const mel = discord.user('Mel')
  const gateway = await stage.start({ APPROVERS: `discord:${mel.id}` })
  const file = join(home.dir, 'x')
  discord.say(discord.ada, discord.general, `[[ask:Bash:touch ${file}]]`, { mention: true })
  const { id } = await asked(gateway)
  const message = await discord.until(() =>
    discord
      .answers(discord.general)
      .find(({ components }) => JSON.stringify(components).includes(`request:${id}:once`)),
  )
  const always = await discord.click(mel, message, `request:${id}:everywhere`)
  await discord.until(() => JSON.stringify([always.original, always.followUps]).includes('Only the owner may allow'))
  expect(existsSync(file)).toBe(false)
  await discord.click(mel, message, `request:${id}:once`)
  await discord.until(() => discord.message(message.id)?.content.includes('Allowed by Mel'))
  await eventually('it ran', () => existsSync(file))
})

test('Discord: the message of a request that was open when the gateway was killed still answers it, and the agent does not read it', async () => {
  await using stage = await openDiscordStage()
  const { discord, home } = stage
  const first = await stage.start()
  const dm = discord.dm(discord.ada)
  discord.say(discord.ada, dm, `[[ask:Bash:touch ${join(home.dir, 'x')}]]`)
  const { id } = await asked(first)
  const buttons = () =>
    discord.answers(dm).filter(({ components }) => JSON.stringify(components).includes(`request:${id}:`))
  const [message] = await discord.until(() => (buttons().length > 0 ? buttons() : null))
  await first.stop('SIGKILL')
  const second = await stage.start()
  expect((await asked(second)).id).toBe(id)
  if (message) await discord.click(discord.ada, message, `request:${id}:once`)
  await stage.answer(dm, 'turn 2')
  expect(home.begun()[1]?.prompt).not.toContain('earlier-conversation')
  expect(existsSync(join(home.dir, 'x'))).toBe(true)
  expect(buttons()).toEqual([])
})

test('a job asks in OUTPUT_CHANNEL_ID', async () => {
  await using stage = await openDiscordStage()
  const { discord, home } = stage
  const dm = discord.dm(discord.ada)
  const file = join(home.dir, 'job')
  mkdirSync(home.configDir, { recursive: true })
  const job = `# Agents\n\n## Cron Jobs\n\n### sweep\nCron: 0 0 1 1 *\nInstruction: [[ask:Bash:touch ${file}]]\n`
  writeFileSync(join(home.configDir, 'agents.md'), job)
  const gateway = await stage.start({ OUTPUT_CHANNEL_ID: `discord:${dm.id}` })
  discord.say(discord.ada, dm, '/cron run sweep')
  const { id, source } = await asked(gateway, file)
  expect(source).not.toBe('discord')
  const message = await discord.until(() =>
    discord.answers(dm).find(({ components }) => JSON.stringify(components).includes(`request:${id}:once`)),
  )
  await discord.click(discord.ada, message, `request:${id}:once`)
  await eventually('it ran', () => existsSync(file))
})

test('Telegram: allow once, deny with a reason in a reply; a stranger’s press changes nothing', async () => {
  await using stage = await openTelegramStage()
  const { telegram, home } = stage
  const gateway = await stage.start()
  const group: Chat = telegram.group('Kitchen')
  const eve = telegram.user('Eve')
  const file = (name: string) => join(home.dir, name)
  const messageOf = (button: string) =>
    telegram.until(() => telegram.answers(group).find(({ buttons }) => buttons.includes(button)))

  telegram.say(telegram.ada, group, `[[ask:Bash:touch ${file('once')}]]`, { mention: true })
  const { id } = await asked(gateway)
  const message = await messageOf(`request:${id}:once`)
  expect(message.text).toContain(`touch ${file('once')}`)
  const told = telegram.press(eve, message, `request:${id}:once`)
  await telegram.until(() => told()?.includes('Your click changed nothing'))
  expect(existsSync(file('once'))).toBe(false)
  telegram.press(telegram.ada, message, `request:${id}:once`)
  await stage.answer(group, 'turn 1')
  expect(existsSync(file('once'))).toBe(true)
  await telegram.until(() => message.buttons.length === 0 && message.text.includes('Allowed by'))

  telegram.say(telegram.ada, group, `[[ask:Bash:touch ${file('why')}]]`, { mention: true })
  const next = await asked(gateway, file('why'))
  telegram.press(telegram.ada, await messageOf(`request:${next.id}:why`), `request:${next.id}:why`)
  const replyTo = await telegram.until(() =>
    telegram.messages(group).find(({ text }) => text.includes('What should the agent know?')),
  )
  telegram.say(telegram.ada, group, 'use the other disk', { replyTo })
  expect((await stage.answer(group, 'turn 2')).text).toContain('use the other disk')
  expect(existsSync(file('why'))).toBe(false)
})

test('Slack: always here, deny with a reason in a dialog; a stranger’s press changes nothing', async () => {
  await using stage = await openSlackStage()
  const { slack, home } = stage
  const gateway = await stage.start()
  const channel: SlackChannel = slack.general
  const file = (name: string) => join(home.dir, name)
  const eve = slack.user('eve')
  slack.invite(channel, eve)
  const messageOf = (button: string) =>
    slack.until(() => slack.answers(channel).find(({ blocks }) => JSON.stringify(blocks).includes(button)))

  slack.say(slack.ada, channel, `[[ask:Bash:touch ${file('always')}]]`, { mention: true })
  const { id } = await asked(gateway)
  const message = await messageOf(`request:${id}:here`)
  const press = slack.press(eve, message, `request:${id}:here`)
  const told = () => JSON.stringify([press.responses, slack.ephemerals(eve)])
  await slack.until(() => told().includes('Your click changed nothing'))
  expect(existsSync(file('always'))).toBe(false)
  slack.press(slack.ada, message, `request:${id}:here`)
  await stage.answer(channel, 'turn 1')
  expect(existsSync(file('always'))).toBe(true)
  const thread = message.thread ?? ''
  slack.say(slack.ada, channel, `again [[ask:Bash:touch ${file('always')}]]`, { mention: true, thread })
  await stage.answer(channel, 'turn 2')

  slack.say(slack.ada, channel, `[[ask:Bash:touch ${file('why')}]]`, { mention: true, thread })
  const next = await asked(gateway, file('why'))
  slack.press(slack.ada, await messageOf(`request:${next.id}:why`), `request:${next.id}:why`)
  await slack.until(() => slack.dialogs(slack.ada).length > 0)
  slack.submit(slack.ada, 'use the other disk')
  expect((await stage.answer(channel, 'turn 3')).text).toContain('use the other disk')
  expect(existsSync(file('why'))).toBe(false)
})
