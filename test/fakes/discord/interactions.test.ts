// Slash commands, buttons and autocomplete of the loopback Discord, answered through the real library.
import type { RESTPutAPIApplicationCommandsJSONBody } from '@discordjs/core'
import { afterEach, expect, test } from 'vitest'
import { openBot } from './bot.ts'
import { openDiscord } from './index.ts'

const after: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const undo of after.splice(0).reverse()) await undo()
})

const commands: RESTPutAPIApplicationCommandsJSONBody = [
  {
    name: 'model',
    description: 'Choose a model',
    options: [
      { name: 'name', description: 'Which', type: 3, required: true, autocomplete: true },
      { name: 'keep', description: 'For good', type: 5 },
    ],
  },
  { name: 'status', description: 'How it is', contexts: [0] },
]

interface Asked {
  readonly id: string
  readonly token: string
  readonly data: Record<string, unknown>
}

const open = async () => {
  let ahead = 0
  const discord = await openDiscord({ now: () => Date.now() + ahead })
  const bot = openBot(discord)
  after.push(discord.close, () => bot.stop())
  await bot.connect()
  await bot.api.applicationCommands.bulkOverwriteGlobalCommands(discord.applicationId, commands)
  const asked = () =>
    discord.until(() => bot.heard.findLast(event => event.t === 'INTERACTION_CREATE')?.d as Asked | undefined)
  return {
    discord,
    api: bot.api.interactions,
    channels: bot.api.channels,
    asked,
    app: discord.applicationId,
    pass(ms: number): void {
      ahead += ms
    },
  }
}

test('a deferred answer is edited, follow-ups come after it, and only the user sees ephemeral ones', async () => {
  const { discord, api, asked, app } = await open()
  const asking = discord.slash(discord.ada, discord.general, 'model', { name: 'opus', keep: true })
  const { id, token, data } = await asked()
  expect(data).toMatchObject({
    name: 'model',
    options: [
      { name: 'name', type: 3, value: 'opus' },
      { name: 'keep', type: 5, value: true },
    ],
  })
  await api.defer(id, token)
  const interaction = await asking
  expect(interaction).toMatchObject({ first: 'deferred', ephemeral: false, original: null })
  expect(discord.messages(discord.general)).toEqual([])
  await api.editReply(app, token, { content: 'done' })
  await api.followUp(app, token, { content: 'a secret', flags: 64 })
  expect(await interaction.whole()).toMatchObject({ content: 'done', type: 20, history: [] })
  expect(interaction.followUps).toMatchObject([{ content: 'a secret', ephemeral: true }])
  expect(discord.messages(discord.general).map(message => message.content)).toEqual(['done'])
  expect((await api.getOriginalReply(app, token)).content).toBe('done')
})

test('the first follow-up of a deferred answer is the answer, with the visibility of the deferral', async () => {
  const { discord, api, asked, app } = await open()
  const asking = discord.slash(discord.ada, discord.general, 'status')
  const { id, token } = await asked()
  await api.defer(id, token, { flags: 64 })
  await api.followUp(app, token, { content: 'fine' })
  expect((await asking).original).toMatchObject({ content: 'fine', ephemeral: true })
  expect(discord.messages(discord.general)).toEqual([])
})

test('an answer after 3 s is refused, and so is a second one', async () => {
  const { discord, api, asked, pass } = await open()
  const late = discord.slash(discord.ada, discord.general, 'status')
  const first = await asked()
  pass(3100)
  await expect(api.reply(first.id, first.token, { content: 'x' })).rejects.toMatchObject({ status: 404, code: 10062 })
  expect(await late).toMatchObject({ first: null, answeredAfterMs: null })

  const asking = discord.slash(discord.ada, discord.general, 'status')
  const second = await discord.until(async () => {
    const latest = await asked()
    return latest.id === first.id ? null : latest
  })
  await api.reply(second.id, second.token, { content: 'x' })
  await expect(api.reply(second.id, second.token, { content: 'y' })).rejects.toMatchObject({ code: 40060 })
  expect((await asking).original?.content).toBe('x')
})

test('before the first answer and after 15 minutes the token is invalid', async () => {
  const { discord, api, asked, app, pass } = await open()
  const asking = discord.slash(discord.ada, discord.general, 'status')
  const { id, token } = await asked()
  await expect(api.editReply(app, token, { content: 'x' })).rejects.toMatchObject({ status: 404, code: 10015 })
  await api.defer(id, token)
  await asking
  pass(15 * 60_000 + 1)
  await expect(api.editReply(app, token, { content: 'x' })).rejects.toMatchObject({ status: 401, code: 50027 })
  await expect(api.followUp(app, token, { content: 'x' })).rejects.toMatchObject({ status: 401, code: 50027 })
})

test('a button is clicked and its message changes', async () => {
  const { discord, api, channels, asked } = await open()
  const components = [{ type: 1, components: [{ type: 2, style: 4, label: 'Stop', custom_id: 'stop' }] }] as never
  const draft = await channels.createMessage(discord.general.id, { content: 'working', components })
  const clicking = discord.click(discord.ada, draft, 'stop')
  const { id, token, data } = await asked()
  expect(data).toMatchObject({ custom_id: 'stop', component_type: 2 })
  await api.updateMessage(id, token, { content: 'stopped', components: [] })
  expect((await clicking).first).toBe('update')
  expect(discord.message(draft.id)).toMatchObject({ content: 'stopped', components: [] })
  await expect(discord.click(discord.ada, draft, 'stop')).rejects.toThrow('no button')
})

test('autocomplete accepts at most 25 choices', async () => {
  const { discord, api, asked } = await open()
  const typing = discord.autocomplete(discord.ada, discord.general, 'model', { name: 'name', value: 'op' })
  const { id, token, data } = await asked()
  expect(data).toMatchObject({ options: [{ name: 'name', value: 'op', focused: true }] })
  const choices = Array.from({ length: 26 }, (_, at) => ({ name: `${at}`, value: `${at}` }))
  await expect(api.createAutocompleteResponse(id, token, { choices })).rejects.toMatchObject({ code: 50035 })
  await api.createAutocompleteResponse(id, token, { choices: choices.slice(0, 2) })
  expect((await typing).choices).toEqual(choices.slice(0, 2))
})

test('an answer of the wrong type is refused', async () => {
  const { discord, api, asked } = await open()
  const asking = discord.slash(discord.ada, discord.general, 'status')
  const { id, token } = await asked()
  await expect(api.deferMessageUpdate(id, token)).rejects.toMatchObject({ code: 50035 })
  await api.defer(id, token)
  await asking
})

test('only registered commands can be used, and only where they are offered', async () => {
  const { discord } = await open()
  await expect(discord.slash(discord.ada, discord.general, 'nothing')).rejects.toThrow('offers no /nothing')
  await expect(discord.slash(discord.ada, discord.dm(discord.ada), 'status')).rejects.toThrow('offers no /status')
  await expect(discord.slash(discord.ada, discord.general, 'model')).rejects.toThrow('needs name')
  expect(discord.commands()).toMatchObject({ puts: 1, registered: [{ name: 'model' }, { name: 'status' }] })
})

test.each<[string, object]>([
  ['a name with capitals', { name: 'Model', description: 'x' }],
  ['a name with a space', { name: 'my model', description: 'x' }],
  ['a name over 32', { name: 'x'.repeat(33), description: 'x' }],
  ['no description', { name: 'x', description: '' }],
  ['a description over 100', { name: 'x', description: 'x'.repeat(101) }],
  ['26 options', { name: 'x', description: 'x', options: many(26, at => option(`o${at}`)) }],
  ['26 choices', { name: 'x', description: 'x', options: [{ ...option('o'), choices: many(26, choice) }] }],
  [
    'a required option behind another',
    { name: 'x', description: 'x', options: [option('a'), { ...option('b'), required: true }] },
  ],
])('a command with %s is refused, and the existing ones stay', async (_what, command) => {
  const discord = await openDiscord()
  after.push(discord.close)
  const { api } = openBot(discord)
  const put = (body: object[]) =>
    api.applicationCommands.bulkOverwriteGuildCommands(discord.applicationId, discord.home.id, body as never)
  await put([{ name: 'old', description: 'x' }])
  await expect(put([command])).rejects.toMatchObject({ status: 400, code: 50035 })
  expect(discord.commands(discord.home)).toMatchObject({ puts: 1, registered: [{ name: 'old' }] })
})

function many<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at))
}
function option(name: string) {
  return { name, description: 'x', type: 3 }
}
function choice(at: number) {
  return { name: `c${at}`, value: `${at}` }
}
