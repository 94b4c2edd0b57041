// Commands: which texts are commands, and what they answer.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordingAdmin } from '../../test/fakes/admin.ts'
import { type CommandParts, createCommands } from './commands.ts'

const author = { id: 'owner', name: 'owner', owner: true }

const status = {
  uptimeMs: 7_260_000,
  events: { waiting: 1, running: 2, answered: 3, failed: 4 },
  deliveries: { waiting: 2, delayed: 1 },
  resting: [],
}

const noSubAgents: CommandParts['subagents'] = {
  find: async () => null,
  list: async () => [],
  spawn: async () => ({ ok: false, why: 'Not here.' }),
  stop: async () => false,
}

function setup(given: Partial<CommandParts> = {}) {
  const chosen = new Map<string, { backend: string | null; model: string | null }>()
  const modes = new Map<string, string>()
  const verbosities = new Map<string, string>()
  const commands = createCommands({
    backends: ['claude', 'codex', 'opencode'],
    answering: lane => ({ backend: chosen.get(lane)?.backend ?? 'claude', model: chosen.get(lane)?.model ?? null }),
    // A moment later: it has to be on disk.
    choose: async (lane, choice) => {
      await new Promise(resolve => setImmediate(resolve))
      chosen.set(lane, choice)
    },
    check: async name =>
      name === 'opencode' ? { ok: false, detail: 'opencode: not found.' } : { ok: true, detail: '' },
    checkModel: async () => null,
    startOver: async () => undefined,
    stop: () => false,
    steer: async () => 'impossible',
    lastText: () => null,
    modes: ['plan', 'acceptEdits'],
    mode: lane => ({ mode: modes.get(lane) ?? 'acceptEdits', own: modes.has(lane) }),
    chooseMode: async (lane, mode) => void (mode === null ? modes.delete(lane) : modes.set(lane, mode)),
    waiting: async () => [],
    status: () => status,
    reload: async () => 'Reloaded.',
    usage: () => ({ today: [], month: [], budget: null }),
    lastUsage: () => null,
    work: () => null,
    verbosities: ['quiet', 'normal', 'full'],
    verbosity: lane => ({ verbosity: verbosities.get(lane) ?? 'normal', own: verbosities.has(lane) }),
    chooseVerbosity: async (lane, how) => void (how === null ? verbosities.delete(lane) : verbosities.set(lane, how)),
    now: () => 0,
    subagents: noSubAgents,
    ...recordingAdmin(),
    time: ms => new Date(ms).toISOString().slice(0, 16),
    ...given,
  })
  const say = async (text: string, by = author) => {
    const parsed = commands.parse(text, 'l')
    return parsed.type === 'command'
      ? parsed.answer({ lane: 'l', author: by, place: { chat: 'webchat', conversation: 'l' }, key: 'k' })
      : parsed
  }
  return { say, commands, chosen }
}

test('text that is not one of our commands passes through unchanged', () => {
  const { commands } = setup()
  const names = commands.list.flatMap(row => row.names)
  const texts = fc.oneof(
    fc.string(),
    fc.string().map(text => `/${text}`),
    fc.constantFrom('/etc/passwd', '/ help', '//help', '/helpme', '/stop.'),
  )
  fc.assert(
    fc.property(texts, text => {
      const word = /^\s*\/([a-z-]+)(?=\s|$)/i.exec(text)?.[1]?.toLowerCase() ?? ''
      fc.pre(!names.includes(word))
      expect(commands.parse(text, 'l')).toEqual({ type: 'message', text })
    }),
    { numRuns: 500 },
  )
})

test('/ask and /claude pass on the text after them; alone they explain their usage', async () => {
  const { say } = setup()
  expect(await say('/ask  what is\nthis? ')).toEqual({ type: 'message', text: ' what is\nthis? ' })
  expect(await say('/claude /help')).toEqual({ type: 'message', text: '/help' })
  expect(await say('/ask')).toContain('/ask …')
})

test('/backend and /model show and change who answers, and reject what would not work', async () => {
  const { say, chosen } = setup()
  expect(await say('/backend')).toContain(
    'answered by claude, with its default model. Available: claude, codex, opencode.',
  )
  expect(await say('/backend nobody')).toContain('no backend called "nobody"')
  expect(await say('/backend opencode')).toBe('Not changed. opencode: not found.')
  expect(await say('/BACKEND codex/gpt-5')).toContain('codex, model gpt-5')
  expect(await say('/model o4:high')).toContain('codex, model o4:high')
  expect(await say('/model claude/opus')).toContain('claude, model opus')
  expect(await say('/model claude/sonnet')).toContain('claude, model sonnet')
  expect(await say('/model claude haiku')).toContain('claude, model haiku')
  expect(await say('/model claude')).toContain('claude, with its default model')
  expect(await say('/model two words')).toContain('does not look like')
  expect(await say('/model default')).toContain('claude, with its default model')
  expect(await say('/backend default')).toContain('claude')
  expect(chosen.get('l')).toEqual({ backend: null, model: null })
})

test('a model that the backend does not have is refused; one that it cannot check is tried', async () => {
  const has = Array.from({ length: 20 }, (_, i) => `x/m${i}`)
  const { say, chosen } = setup({ checkModel: async (_, model) => ({ known: has.includes(model), has }) })
  expect(await say('/model made-up')).toMatch(
    /^Not changed\. claude has no model called "made-up"\. It has: x\/m0, .*x\/m11, and 8 more\.$/,
  )
  expect(await say('/backend codex/made-up')).toMatch(/^Not changed\. codex has no model/)
  expect(chosen.size).toBe(0)
  expect(await say('/model x/m3')).toBe('From the next message on: claude, model x/m3.')
  expect(await setup().say('/model made-up')).toMatch(
    /model made-up\. claude cannot check the model name in advance\. If it fails, \/model default switches back/,
  )
})

test('the other commands answer with the current state', async () => {
  const waiting = async () => [{ position: 1, text: 'first\nline' }]
  const spent = { backend: 'claude', model: 'opus', turns: 1, inputTokens: 12_345, outputTokens: 7, costUsd: 0.125 }
  const { say } = setup({
    waiting,
    usage: () => ({
      today: [spent],
      month: [{ ...spent, model: null, turns: 2, costUsd: null }],
      budget: { usd: { spent: 4.5, of: 5 }, tokens: null, level: 'paused' },
    }),
  })
  expect(await say('/queue')).toBe('1. first line')
  expect(await say('/stop')).toContain('Nothing is running')
  expect(await say('/new')).toContain('new conversation')
  expect(await say('/status')).toBe(
    'Up for 2 h 1 min. This conversation is answered by claude, with its default model.\nMessages: 2 running, 1 waiting, 3 answered, 4 failed. Outbox: 2 waiting, 1 to be retried after a failure.',
  )
  expect(await setup({ status: () => ({ ...status, deliveries: { waiting: 2, delayed: 0 } }) }).say('/status')).toMatch(
    /Messages: 2 running, 1 waiting, 3 answered, 4 failed\.$/,
  )
  const resting = [{ backend: 'claude', why: 'not-logged-in', until: 600_000 }]
  expect(await setup({ status: () => ({ ...status, resting }) }).say('/status')).toContain(
    'claude could not answer (not logged in). For the next 10 min, other backends are tried first. /backend claude tries it again',
  )
  expect(await say('/usage')).toBe(
    '**Today**\n- claude (opus): 1 turn, 12k tokens in, 7 out, $0.1250\n\n**Budget**\n$4.50 of $5.00 for today. Heartbeats and cron jobs are paused until tomorrow.\n\n**Last 30 days**\n- claude: 2 turns, 12k tokens in, 7 out',
  )
  expect(await setup().say('/usage')).toContain('nothing')
  for (const row of setup().commands.list) expect(await say('/help')).toContain(`/${row.names[0]}`)
})

test('only the owner chooses backend and model; guests may use the other commands', async () => {
  const { say, chosen, commands } = setup()
  const guest = { id: '66', name: 'Eve', owner: false }
  for (const text of ['/backend codex', '/BACKEND', '/model o4', '/model'])
    expect(await say(text, guest)).toMatch(/^\/(backend|model) is for the owner/)
  expect(chosen.size).toBe(0)
  const help = await say('/help', guest)
  expect(help).not.toMatch(/backend|\/model/)
  for (const { names, ownerOnly } of commands.list)
    if (!ownerOnly) expect(await say(`/${names[0]}`, guest)).not.toContain('is for the owner')
  expect(await say('/ask me', guest)).toEqual({ type: 'message', text: 'me' })
})

test('/mode shows and chooses the mode of a conversation, and /plan is one of them', async () => {
  const { say } = setup()
  expect(await say('/mode')).toContain('acceptEdits')
  expect(await say('/mode nonsense')).toContain('no mode called "nonsense". Available: plan, acceptEdits')
  expect(await say('/plan')).toBe('From the next message on: plan (for this conversation).')
  expect(await say('/mode default')).toBe('From the next message on: acceptEdits.')
})

test('/steer with words is a message for the running turn; alone it hands over the next one that waits', async () => {
  const { say } = setup({ steer: async () => 'steered' })
  expect(await say('/steer  left, please')).toEqual({ type: 'message', text: 'left, please', steer: true })
  expect(await say('/steer')).toBe('Told.')
  expect(await setup().say('/steer')).toContain('/stop makes it go next')
})

test('/retry sends the last message again, and /continue lets the agent go on', async () => {
  expect(await setup({ lastText: () => 'the question' }).say('/retry')).toEqual({
    type: 'message',
    text: 'the question',
  })
  expect(await setup().say('/retry')).toBe('There is no message to send again.')
  expect(await setup().say('/continue')).toEqual({ type: 'message', text: 'Continue where you stopped.' })
})

test('/usage last shows the last turn of this conversation', async () => {
  const spent = [
    { backend: 'claude', model: 'opus', turns: 1, inputTokens: 12_345, outputTokens: 67, costUsd: 0.1234 },
  ] as const
  expect(await setup({ lastUsage: () => ({ ms: 4200, spent }) }).say('/usage last')).toBe(
    '**Last turn**, 4.2 s\n- claude (opus): 1 turn, 12k tokens in, 67 out, $0.1234',
  )
  expect(await setup().say('/usage last')).toBe('No turn of this conversation is stored.')
})

test('/work gives the owner the whole work as a document', async () => {
  const { say } = setup({ work: () => ({ steps: 2, document: '# What the agent did' }) })
  expect(await say('/work')).toEqual({
    text: 'What the agent did, in 2 steps:',
    document: { name: 'work.md', text: '# What the agent did' },
  })
  expect(await say('/work', { ...author, owner: false })).toBe('/work is for the owner of this gateway.')
  expect(await setup().say('/work')).toContain('nothing')
})

test('/verbosity shows, changes and resets how much is shown in this conversation', async () => {
  const { say } = setup()
  expect(await say('/verbosity')).toBe('The verbosity of this conversation is normal. Available: quiet, normal, full.')
  expect(await say('/verbosity loud')).toBe('There is no verbosity called "loud". Available: quiet, normal, full.')
  expect(await say('/verbosity full')).toBe('From the next message on: full (for this conversation).')
  expect(await say('/verbosity default')).toBe('From the next message on: normal.')
})
