// Who wins: deny, ask, allow, the lists of tools.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { permissionModes } from '../../base/agent.ts'
import type { ToolUse } from '../../base/tool-use.ts'
import { type DecisionContext, decide, isListed, type PlacedRule, type RuleList, ruleLists } from './decide.ts'
import { listsFor, toolsFor } from './modes.ts'
import { everyTool, parseRule, type Rule } from './rules.ts'
import { suggestRule } from './suggest.ts'

const rule = (text: string): Rule => {
  const parsed = parseRule(text)
  if (typeof parsed === 'string') throw new Error(`${text}: ${parsed}`)
  return parsed
}
const placed = (list: RuleList, text: string, where: Partial<PlacedRule> = {}): PlacedRule => ({
  ...{ list, rule: rule(text), conversation: null, project: null },
  ...where,
})
const bash = (command: string): ToolUse => ({ tool: 'Bash', work: { kind: 'command', command } })
const edit = (path: string, tool = 'Edit'): ToolUse => ({ tool, work: { kind: 'edit', path, diff: '' } })
const base: DecisionContext = {
  ...{ rules: [], allowedTools: ['Read', 'Edit', 'Bash(git log:*)'], askTools: ['Bash', 'WebFetch'] },
  ...{ lane: 'webchat:home', project: '/space/app', folder: '/space/app', home: '/home/ada', realpath: path => path },
}
const decided = (use: ToolUse, ...rules: PlacedRule[]) => {
  const { type, by } = decide(use, { ...base, rules })
  return by === null ? type : `${type} by ${by}`
}

test('without rules: allowed tools run, also narrowed ones; others are asked for; the rest is denied', () => {
  expect(decided(edit('a'))).toBe('allow')
  expect(decided(bash('git log -3'))).toBe('allow')
  expect(decided(bash('git log -3; rm x'))).toBe('ask')
  expect(decided(edit('a', 'MultiEdit'))).toBe('allow')
  expect(decided(edit('a', 'Write'))).toBe('deny')
  expect(decided({ tool: 'WebSearch', work: { kind: 'other', input: '' } })).toBe('deny')
})

test('deny wins over ask, ask over allow, and what a limit may be about is asked for', () => {
  const rules = [placed('allow', 'Bash'), placed('ask', 'Bash(git push:*)'), placed('deny', 'Bash(rm:*)')]
  expect(decided(bash('ls'), ...rules)).toBe('allow by Bash')
  expect(decided(bash('git push && ls'), ...rules)).toBe('ask by Bash(git push:*)')
  expect(decided(bash('git push; rm x'), ...rules)).toBe('deny by Bash(rm:*)')
  expect(decided(bash('ls $(rm x)'), ...rules)).toBe('ask by Bash(rm:*)')
  expect(decided(bash('sudo rm x'), ...rules)).toBe('ask by Bash(rm:*)')
})

test('a line is allowed by several rules together, and all of them are named', () => {
  const rules = [placed('allow', 'Bash(npm test)'), placed('allow', 'Bash(git status:*)'), placed('allow', 'Bash(ls)')]
  expect(decided(bash('git status -s && npm test'), ...rules)).toBe('allow by Bash(npm test), Bash(git status:*)')
  expect(decided(bash('git status -s && npm test | sh'), ...rules)).toBe('ask')
})

test('a rule for a conversation or a project applies nowhere else', () => {
  expect(decided(bash('ls'), placed('allow', 'Bash(ls)', { conversation: 'webchat:home' }))).toBe('allow by Bash(ls)')
  expect(decided(bash('ls'), placed('allow', 'Bash(ls)', { conversation: 'webchat:other' }))).toBe('ask')
  expect(decided(bash('ls'), placed('allow', 'Bash(ls)', { project: '/space/app' }))).toBe('allow by Bash(ls)')
  expect(decided(bash('ls'), placed('deny', 'Bash(ls)', { project: '/space/other' }))).toBe('ask')
})

test('a rule allows no tool that the turn does not have', () => {
  expect(decided({ tool: 'WebSearch', work: { kind: 'other', input: '' } }, placed('allow', 'WebSearch'))).toBe('deny')
  expect(decided(edit('a', 'Write'), placed('ask', 'Edit'))).toBe('deny')
})

test('a limit for every tool is asked for with every tool', () => {
  const all: PlacedRule = { list: 'ask', rule: everyTool('permissions.json'), conversation: null, project: null }
  expect(decided(edit('a'), all, placed('allow', 'Edit'))).toBe('ask by permissions.json')
})

const anyText = fc.constantFrom(
  ...[
    'Bash',
    'Bash(git status:*)',
    'Bash(npm test)',
    'Bash(rm:*)',
    'Bash(git *)',
    'Edit',
    'Edit(src/**)',
    'Edit(*.ts)',
  ],
  ...['Read(.env)', 'Read', 'WebFetch(domain:a.com)', 'mcp__x', 'mcp__x__y', 'Write'],
)
const anyRule = (list: fc.Arbitrary<RuleList> = fc.constantFrom(...ruleLists)) =>
  fc
    .tuple(
      list,
      anyText,
      fc.option(fc.constantFrom('webchat:home', 'x')),
      fc.option(fc.constantFrom('/space/app', '/x')),
    )
    .map(([of, text, conversation, project]) => placed(of, text, { conversation, project }))
const anyUse = fc.oneof(
  fc
    .array(
      fc.constantFrom('git status', 'npm test', 'rm x', 'git push', ' && ', '; ', ' | ', '$(x)', ' > x', 'sudo rm'),
    )
    .map(parts => bash(parts.join(''))),
  fc
    .tuple(fc.constantFrom('src/a.ts', 'b.ts', '../c', '.env'), fc.constantFrom('Edit', 'Write', 'MultiEdit'))
    .map(([path, tool]) => edit(path, tool)),
  fc.constantFrom<ToolUse>(
    { tool: 'Read', work: { kind: 'read', path: '.env' } },
    { tool: 'WebFetch', work: { kind: 'fetch', url: 'https://a.com' } },
    { tool: 'mcp__x__y', work: { kind: 'other', input: '' } },
  ),
)
const anyLists = fc.record({
  allowedTools: fc.subarray(['Read', 'Edit', 'Write', 'Bash', 'Bash(git log:*)', 'mcp__x', 'WebFetch']),
  askTools: fc.subarray(['Read', 'Edit', 'Write', 'Bash', 'mcp__x', 'WebFetch']),
})
const strictness = { allow: 0, ask: 1, deny: 2 }

test('a rule that allows never loosens what a rule forbids or asks for; one that limits never loosens anything', () => {
  fc.assert(
    fc.property(anyUse, fc.array(anyRule()), anyRule(), anyLists, fc.nat(), (use, rules, added, lists, at) => {
      const more = [...rules.slice(0, at % (rules.length + 1)), added, ...rules.slice(at % (rules.length + 1))]
      const before = decide(use, { ...base, ...lists, rules })
      const after = decide(use, { ...base, ...lists, rules: more })
      if (added.list === 'allow') {
        const isListedAtAll = [...lists.allowedTools, ...lists.askTools].some(entry => isListed(entry, use.tool))
        if (!isListedAtAll || before.by !== null) expect(after.type).toBe(before.type)
        expect(strictness[after.type]).toBeLessThanOrEqual(strictness[before.type])
      } else expect(strictness[after.type]).toBeGreaterThanOrEqual(strictness[before.type])
    }),
    { numRuns: 2000 },
  )
})

test('the order of the rules makes no difference, and a rule elsewhere makes none', () => {
  fc.assert(
    fc.property(anyUse, fc.array(anyRule()), anyLists, (use, rules, lists) => {
      const { type } = decide(use, { ...base, ...lists, rules })
      expect(decide(use, { ...base, ...lists, rules: rules.toReversed() }).type).toBe(type)
      const here = rules.filter(one => one.conversation !== 'x' && one.project !== '/x')
      expect(decide(use, { ...base, ...lists, rules: here }).type).toBe(type)
    }),
    { numRuns: 1000 },
  )
})

test('each mode means what it means at a terminal', () => {
  const of = (mode: (typeof permissionModes)[number]) =>
    toolsFor(mode, ['Read', 'Edit', 'WebFetch', 'mcp__aetheel', 'mcp__x'], ['Bash'])
  expect(of('bypassPermissions')).toEqual({
    allowedTools: ['Read', 'Edit', 'WebFetch', 'mcp__aetheel', 'mcp__x'],
    askTools: ['Bash'],
  })
  expect(of('default')).toEqual({
    allowedTools: ['Read', 'mcp__aetheel'],
    askTools: ['Edit', 'WebFetch', 'mcp__x', 'Bash'],
  })
  expect(of('acceptEdits')).toEqual({
    allowedTools: ['Read', 'Edit', 'mcp__aetheel'],
    askTools: ['WebFetch', 'mcp__x', 'Bash'],
  })
  expect(of('plan')).toEqual(of('default'))
})

test('a tool that a limit is about is asked for each time; one that is denied as a whole is gone', () => {
  const lists = (...rules: PlacedRule[]) =>
    listsFor('bypassPermissions', ['Read', 'Grep', 'Edit', 'Bash', 'mcp__x'], ['WebFetch'], rules)
  expect(lists(placed('deny', 'Bash(rm:*)'), placed('allow', 'Edit(src/**)'))).toEqual({
    allowedTools: ['Read', 'Grep', 'Edit', 'mcp__x'],
    askTools: ['Bash', 'WebFetch'],
  })
  expect(lists(placed('deny', 'Read(.env)'))).toEqual({
    allowedTools: ['Edit', 'Bash', 'mcp__x'],
    askTools: ['Read', 'Grep', 'WebFetch'],
  })
  expect(lists(placed('deny', 'Bash'), placed('deny', 'WebFetch'))).toEqual({
    allowedTools: ['Read', 'Grep', 'Edit', 'mcp__x'],
    askTools: [],
  })
  expect(lists(placed('deny', 'mcp__x__y')).askTools).toEqual(['mcp__x', 'WebFetch'])
  expect(lists(placed('ask', 'mcp__*__delete')).askTools).toEqual(['mcp__x', 'WebFetch'])
})

test('what a backend runs without asking, the rules would allow; no mode and no rule adds a tool', () => {
  fc.assert(
    fc.property(
      anyUse,
      fc.array(anyRule()),
      anyLists,
      fc.constantFrom(...permissionModes),
      (use, rules, given, mode) => {
        const inForce = rules.filter(one => one.conversation !== 'x' && one.project !== '/x')
        const lists = listsFor(mode, given.allowedTools, given.askTools, inForce)
        const by = { ...base, ...toolsFor(mode, given.allowedTools, given.askTools), rules }
        if (
          lists.allowedTools.some(
            entry => entry === use.tool || (entry.startsWith('mcp__') && isListed(entry, use.tool)),
          )
        )
          expect(decide(use, by).type).toBe('allow')
        for (const entry of [...lists.allowedTools, ...lists.askTools])
          expect([...given.allowedTools, ...given.askTools]).toContain(entry)
      },
    ),
    { numRuns: 2000 },
  )
})

test.each<[ToolUse, string | null]>([
  [bash('git status --short'), 'Bash(git status:*)'],
  [bash('npm run test:unit -- --watch'), 'Bash(npm run test:unit:*)'],
  [bash('npm install left-pad'), 'Bash(npm install left-pad)'],
  [bash('git push origin main'), 'Bash(git push origin main)'],
  [bash('git -c core.pager=x log'), 'Bash(git -c core.pager=x log)'],
  [bash('ls -la'), 'Bash(ls -la)'],
  [bash('ls src/*.ts'), 'Bash(ls src/\\*.ts)'],
  [bash('python -c "import os"'), 'Bash(python -c "import os")'],
  [bash('sudo git status'), 'Bash(sudo git status)'],
  [bash('bash -c "git status"'), 'Bash(bash -c "git status")'],
  [bash('find . -name x'), 'Bash(find . -name x)'],
  [bash('cd x && git status'), 'Bash(cd x && git status)'],
  [bash('echo $(x)'), null],
  [bash('a > b'), null],
  [bash("git commit -m 'a\nb'"), 'Bash(git commit:*)'],
  [bash("echo 'a\nb'"), null],
  [bash('echo "a\u200Bb"'), null],
  [edit('/space/app/src/a/b.ts', 'Write'), 'Edit(./src/a/**)'],
  [edit('README.md'), 'Edit(./README.md)'],
  [edit('/etc/hosts'), 'Edit(//etc/hosts)'],
  [edit('~/x'), null],
  [{ tool: 'Read', work: { kind: 'read', path: 'src/a.ts' } }, 'Read(./src/a.ts)'],
  [
    { tool: 'WebFetch', work: { kind: 'fetch', url: 'https://Docs.example.com/x' } },
    'WebFetch(domain:docs.example.com)',
  ],
  [{ tool: 'WebFetch', work: { kind: 'fetch', url: 'x' } }, null],
  [{ tool: 'mcp__github__create_issue', work: { kind: 'other', input: '{}' } }, 'mcp__github__create_issue'],
  [{ tool: 'WebSearch', work: { kind: 'search', query: 'x', path: null } }, 'WebSearch'],
])('always, for %j: %s', (use, expected) => expect(suggestRule(use, '/space/app')).toBe(expected))

test('the rule that is suggested allows what was asked for, and nothing with another program', () => {
  const word = fc.oneof(
    fc.constantFrom(
      'git',
      'status',
      'npm',
      'run',
      'x',
      '*',
      'sh',
      '-c',
      '&&',
      ';',
      '"a b"',
      "'*'",
      '\\*',
      '(',
      ')',
      ':*',
      '-m',
    ),
    fc.string({ maxLength: 6 }),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        anyUse,
        fc.array(word, { minLength: 1, maxLength: 6 }).map(words => bash(words.join(' '))),
      ),
      use => {
        const text = suggestRule(use, base.folder)
        if (text === null) return
        const context = { ...base, askTools: [use.tool], allowedTools: [], rules: [placed('allow', text)] }
        expect(decide(use, context), text).toEqual({ type: 'allow', by: text })
        expect(decide(bash('evil x'), context).type).not.toBe('allow')
      },
    ),
    { numRuns: 2000 },
  )
})
