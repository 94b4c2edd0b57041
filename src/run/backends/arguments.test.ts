// The arguments of all dialects, for any turn: the requested flags are there, and the prompt is not.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { permissionModes, type Turn } from '../../base/agent.ts'
import type { Profile } from '../../base/profile.ts'
import type { Dialect } from '../cli.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { gemini } from './gemini.ts'
import { dialects } from './index.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'

const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const turns = fc.record({
  prompt: fc.string({ minLength: 30 }),
  systemPrompt: fc.string({ minLength: 30 }),
  session: fc.option(fc.record({ id: fc.uuid(), resume: fc.boolean() })),
  model: fc.option(word),
  maxTurns: fc.integer({ min: 1, max: 99 }),
  allowedTools: fc.array(word, { maxLength: 6 }),
  askTools: fc.constant([]),
  permissionMode: fc.constantFrom(...permissionModes),
  mcpServers: fc.constant([]),
  workingDir: fc.constant('/space'),
}) satisfies fc.Arbitrary<Turn>
const bypassing = turns.map((turn): Turn => ({ ...turn, permissionMode: 'bypassPermissions' }))

const file = '/scratch/system-prompt.md'
const argumentsOf = (dialect: Dialect, turn: Turn) => dialect.arguments(turn, '/scratch')
const follows = (list: readonly string[], flag: string, value: string) =>
  list.some((one, i) => one === flag && list[i + 1] === value)
const law = (given: fc.Arbitrary<Turn>, holds: (turn: Turn) => void) =>
  fc.assert(fc.property(given, holds), { numRuns: 200 })

// Feature: multi-cli-backend, Property 1: Claude backend required flags
test('claude', () =>
  law(bypassing, turn => {
    const list = argumentsOf(claude, turn)
    expect(list).toEqual(expect.arrayContaining(['-p', '--verbose', '--dangerously-skip-permissions']))
    expect(follows(list, '--output-format', 'stream-json')).toBe(true)
    expect(follows(list, '--append-system-prompt-file', file)).toBe(true)
    expect(follows(list, '--max-turns', String(turn.maxTurns))).toBe(true)
    expect(follows(list, '--tools', turn.allowedTools.join(','))).toBe(true)
    expect(list.filter(one => one === '--allowedTools')).toHaveLength(turn.allowedTools.length)
    for (const tool of turn.allowedTools) expect(follows(list, '--allowedTools', tool)).toBe(true)
  }))

// Feature: multi-cli-backend, Property 2: Codex backend required flags
test('codex', () =>
  law(bypassing, given => {
    // Full access is for those who allow Bash.
    const turn = { ...given, allowedTools: [...given.allowedTools, 'Bash'] }
    const list = argumentsOf(codex, turn)
    expect(argumentsOf(codex, given)).not.toContain('--dangerously-bypass-approvals-and-sandbox')
    expect(list[0]).toBe('exec')
    expect(list).toEqual(expect.arrayContaining(['--json', '--dangerously-bypass-approvals-and-sandbox']))
    expect(follows(list, '--cd', turn.workingDir)).toBe(true)
    if (list.includes('resume')) expect(list.indexOf('--cd')).toBeLessThan(list.indexOf('resume'))
  }))

// Feature: multi-cli-backend, Property 3: Gemini backend required flags
test('gemini', () =>
  law(bypassing, turn => {
    const list = argumentsOf(gemini, turn)
    expect(follows(list, '--output-format', 'stream-json')).toBe(true)
    expect(follows(list, '--approval-mode', 'yolo')).toBe(true)
    expect(gemini.input(turn).replaceAll('\u2060', '')).toBe(turn.prompt.replaceAll('\u2060', ''))
  }))

// Feature: multi-cli-backend, Property 4: OpenCode backend required flags
test('opencode', () =>
  law(bypassing, turn => {
    const list = argumentsOf(opencode, turn)
    expect(list[0]).toBe('run')
    expect(follows(list, '--format', 'json')).toBe(true)
    expect(list.includes('--model')).toBe(turn.model !== null)
    // A model without a provider belongs to opencode itself.
    if (turn.model) expect(follows(list, '--model', `opencode/${turn.model}`)).toBe(true)
    expect(follows(argumentsOf(opencode, { ...turn, model: 'x/y' }), '--model', 'x/y')).toBe(true)
  }))

// Feature: multi-cli-backend, Property 5: Session resume args across backends
describe('a session is resumed with the flags of each CLI; without a session there is no such flag', () => {
  const flags: Record<string, { resume(id: string): readonly string[]; all: readonly string[] }> = {
    claude: { resume: id => ['--resume', id], all: ['--resume', '--session-id', '--continue'] },
    codex: { resume: id => ['resume', id], all: ['resume'] },
    gemini: { resume: id => ['--resume', id], all: ['--resume', '--session-id'] },
    opencode: { resume: id => ['--session', id, '--continue'], all: ['--session', '--continue'] },
    pi: { resume: id => ['--session', id], all: ['--session', '--session-id', '--continue'] },
  }
  test.each(dialects.map(dialect => dialect.name))('%s', name => {
    const dialect = dialects.find(one => one.name === name)!
    law(turns, turn => {
      const list = argumentsOf(dialect, turn)
      const { resume, all } = flags[name]!
      if (turn.session?.resume) expect(list.join('\n')).toContain(resume(turn.session.id).join('\n'))
      if (turn.session === null) for (const flag of all) expect(list).not.toContain(flag)
      if (turn.session && !turn.session.resume) expect(list.includes(turn.session.id)).toBe(dialect.takesSessionIds)
    })
  })
})

test.each(dialects.map(dialect => dialect.name))(
  '%s gets the prompt by stdin and the system prompt by file, never on its command line',
  name => {
    const dialect = dialects.find(one => one.name === name)!
    law(turns, turn => {
      for (const argument of argumentsOf(dialect, turn)) {
        expect(argument).not.toContain(turn.prompt)
        expect(argument).not.toContain(turn.systemPrompt)
      }
      expect(dialect.input(turn).replaceAll('\u2060', '').endsWith(turn.prompt.replaceAll('\u2060', ''))).toBe(true)
      const told = [...argumentsOf(dialect, turn), ...Object.values(dialect.environment(turn, file, {}))]
      expect(told.some(one => one.includes(file))).toBe(true)
    })
  },
)

// A turn that asks: nothing is bypassed, and every tool that must be asked for is offered and asked for.
const askingTurns = fc
  .tuple(turns, fc.uniqueArray(fc.constantFrom('Bash', 'Edit', 'Write', 'Read'), { minLength: 1 }))
  .map(([turn, askTools]): Turn => ({ ...turn, askTools }))

test('claude asks for every use of the tools that must be asked for, and skips no permissions', () =>
  law(askingTurns, turn => {
    const list = argumentsOf(claude, turn)
    expect(list).not.toContain('--dangerously-skip-permissions')
    expect(follows(list, '--permission-prompt-tool', 'stdio')).toBe(true)
    expect(follows(list, '--permission-mode', turn.permissionMode === 'plan' ? 'plan' : 'default')).toBe(true)
    expect(follows(list, '--settings', '/scratch/settings.json')).toBe(true)
    const { permissions } = JSON.parse(claude.files(turn, {})['settings.json'] ?? '{}') as { permissions: object }
    expect(permissions).toMatchObject({ ask: turn.askTools })
    const offered = list.flatMap((one, i) => (list[i - 1] === '--tools' ? one.split(',') : []))
    expect(offered).toEqual(expect.arrayContaining([...turn.askTools, 'AskUserQuestion']))
    expect(offered.includes('ExitPlanMode')).toBe(turn.permissionMode === 'plan')
  }))

test('pi gets an extension that asks for these tools, and no tools that change things while it plans', () =>
  law(askingTurns, turn => {
    const list = argumentsOf(pi, turn)
    expect(follows(list, '-e', '/scratch/asking.js')).toBe(true)
    const extension = pi.files(turn, {})['asking.js'] ?? ''
    const offered = list[list.indexOf('--tools') + 1]?.split(',') ?? []
    for (const tool of turn.askTools) {
      expect(extension).toContain(`"${tool.toLowerCase()}"`)
      if (turn.permissionMode !== 'plan') expect(offered).toContain(tool.toLowerCase())
    }
    if (turn.permissionMode === 'plan') expect(['bash', 'edit', 'write'].some(one => offered.includes(one))).toBe(false)
  }))

test.each(['claude', 'pi'])('a turn of a guest with %s never asks', name => {
  const dialect = dialects.find(one => one.name === name)!
  const guest = { principal: 'guest', wall: 'flags' } as unknown as Profile
  law(askingTurns, turn => {
    const confined = (askTools: readonly string[]): Turn => ({ ...turn, askTools, profile: guest })
    expect(argumentsOf(dialect, confined(turn.askTools))).toEqual(argumentsOf(dialect, confined([])))
    expect(dialect.files(confined(turn.askTools), {})).toEqual(dialect.files(confined([]), {}))
    expect(dialect.hosted?.(confined(turn.askTools), {})).toBe(false)
  })
})
