// What rules mean, one by one.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { longestWork, type ToolUse } from '../../base/tool-use.ts'
import { covers, matches, parseRule, type Rule, type RuleContext } from './rules.ts'

const links: Record<string, string> = {
  '/space/app/evil': '/etc',
  '/space/app/in': '/space/app/src',
  '/link': '/space/app',
}
/** Follows the links above; everything exists but what is called new. */
const realpath = (path: string): string | null => {
  if (path.includes('/new')) return null
  const from = Object.keys(links).find(link => path === link || path.startsWith(`${link}/`))
  return from === undefined ? path : links[from] + path.slice(from.length)
}
const context: RuleContext = { folder: '/space/app', home: '/home/ada', realpath }

const rule = (text: string): Rule => {
  const parsed = parseRule(text)
  if (typeof parsed === 'string') throw new Error(`${text}: ${parsed}`)
  return parsed
}
const bash = (command: string): ToolUse => ({ tool: 'Bash', work: { kind: 'command', command } })
const edit = (path: string, tool = 'Edit'): ToolUse => ({ tool, work: { kind: 'edit', path, diff: '' } })
const read = (path: string, tool = 'Read'): ToolUse => ({ tool, work: { kind: 'read', path } })
const grep = (path: string | null, tool = 'Grep', query = 'x'): ToolUse => ({
  tool,
  work: { kind: 'search', query, path },
})
const fetching = (url: string): ToolUse => ({ tool: 'WebFetch', work: { kind: 'fetch', url } })
const tool = (name: string): ToolUse => ({ tool: name, work: { kind: 'other', input: '{}' } })

const allows = (text: string, use: ToolUse) => covers([rule(text)], use, context)
const limits = (text: string, use: ToolUse) => matches(rule(text), use, context)

describe('commands', () => {
  test.each([
    ['Bash', 'rm -rf $(x)', true],
    ['Bash(*)', 'a > b', true],
    ['Bash(git status:*)', 'git status', true],
    ['Bash(git status:*)', 'git  "status" --short', true],
    ['Bash(git status:*)', 'git statusx', false],
    ['Bash(git status:*)', "git 'status x'", false],
    ['Bash(git status:*)', 'git -C x status', false],
    ['Bash(git status *)', 'git status --short', true],
    ['Bash(git status *)', 'git status', true],
    ['Bash(npm run test)', 'npm run test', true],
    ['Bash(npm run test)', 'npm run test --x', false],
    ['Bash(npm run test)', 'npm run test 2>&1', true],
    ['Bash(git * main)', 'git push origin main', true],
    ['Bash(git * main)', 'git push origin main2', false],
    ['Bash(git * main)', 'git push x && rm main', false],
    ['Bash(ls*)', 'lsof -i', true],
    ['Bash(* --version)', 'node --version', true],
    ['Bash(git commit -m "a b")', "git commit -m 'a b'", true],
    ['Bash(cd x && npm test)', 'cd x && npm test', true],
    ['Bash(cd x && npm test)', 'cd x; npm test', false],
    ['Bash(echo $HOME)', 'echo $HOME', true],
    ['Bash(ls \\*)', 'ls *', true],
    ['Bash(ls \\*)', 'ls x', false],
    ['Bash(git log:*)', 'git log --output=/home/ada/.profile', false],
    ['Bash(git log:*)', 'git log --outp x', false],
    ['Bash(git log:*)', 'git log --oneline', true],
    ['Bash(git log --output=x)', 'git log --output=x', true],
  ])('allowed by %s: %s? %s', (text, command, expected) => expect(allows(text, bash(command))).toBe(expected))

  test.each([
    ['Bash(rm:*)', 'ls && rm x', true],
    ['Bash(rm:*)', '/bin/rm x', true],
    ['Bash(rm:*)', '\\rm x', 'unsure'],
    ['Bash(rm:*)', 'ls', false],
    ['Bash(rm:*)', 'ls $(rm x)', 'unsure'],
    ['Bash(rm:*)', 'sudo rm x', 'unsure'],
    ['Bash(rm:*)', 'bash -c "rm x"', 'unsure'],
    ['Bash(rm:*)', 'find . -exec rm {} +', 'unsure'],
    ['Bash(rm:*)', 'find . -delete', 'unsure'],
    ['Bash(sudo:*)', 'sudo rm x', true],
    ['Bash', 'anything $(x)', true],
  ])('limited by %s: %s? %s', (text, command, expected) => expect(limits(text, bash(command))).toBe(expected))

  test('several rules together allow a line if each of its commands is allowed by one of them', () => {
    const rules = ['Bash(git status:*)', 'Bash(npm test)'].map(rule)
    expect(covers(rules, bash('git status -s && npm test'), context)).toBe(true)
    expect(covers(rules, bash('git status -s && npm test && rm x'), context)).toBe(false)
  })

  test('a command that was cut, or that is not told, is never allowed by a narrowed rule', () => {
    const long = bash(`git status ${'x'.repeat(longestWork)}`)
    expect(
      allows('Bash(git status:*)', {
        ...long,
        work: { kind: 'command', command: long.work.kind === 'command' ? long.work.command.slice(0, longestWork) : '' },
      }),
    ).toBe(false)
    expect(limits('Bash(rm:*)', long)).toBe('unsure')
    expect(allows('Bash(git status:*)', tool('Bash'))).toBe(false)
    expect(limits('Bash(rm:*)', tool('Bash'))).toBe('unsure')
  })

  test('whatever is put after an allowed command, in whatever way, is not allowed with it', () => {
    const signs = [
      '&&',
      '||',
      ';',
      '|',
      '\n',
      '&',
      '|&',
      ' -x $(',
      ' `',
      ' "$(',
      ' > ',
      ' < ',
      ' <(',
      '\r\n',
      ';;',
      '\u2028',
      '& ',
      "' ; ",
      '" ; ',
      '\\\n;',
      '${x;',
      ' #\n',
    ]
    const quotes = ['', "'", '"', '\\', '$']
    fc.assert(
      fc.property(
        fc.constantFrom('git status', 'npm test', 'ls'),
        fc.constantFrom(...quotes),
        fc.constantFrom(...signs),
        fc.constantFrom('', ' ', '\t'),
        fc.constantFrom('rm', 'evil', '"rm"', "r'm'", 'X=1 rm', 'eval rm', '(rm', '{ rm'),
        fc.constantFrom('', ')', '`', '"', "'", ')"', ';}', '&'),
        (allowed, quote, sign, space, second, end) => {
          const line = `${allowed} ${quote}${sign}${space}${second} x${end}`
          expect(allows(`Bash(${allowed}:*)`, bash(line)) && !isOneCommand(line), line).toBe(false)
        },
      ),
      { numRuns: 2000 },
    )
  })
  /** Everything after the first word is quoted: by an independent and simpler reading. */
  const isOneCommand = (line: string) =>
    /^[a-z]+(?: [\w-]+)*(?:[ \t]|'[^']*'|"[^"$`\\]*"|\\[ -/:-@[-`{-~]|[\w=-])*$/.test(line)
})

describe('paths', () => {
  test.each([
    ['Edit(src/**)', edit('/space/app/src/a/b.ts'), true],
    ['Edit(src/**)', edit('src/a.ts'), true],
    ['Edit(src/**)', edit('src/a.ts', 'Write'), true],
    ['Edit(src/**)', edit('src/a.ts', 'NotebookEdit'), true],
    ['Edit(src/**)', edit('src/new/deep/a.ts'), true],
    ['Edit(src/**)', edit('src/../package.json'), false],
    ['Edit(src/**)', edit('/space/app/srcx/a'), false],
    ['Edit(src/**)', edit('/etc/src/a'), false],
    ['Edit(src/**)', read('src/a.ts'), false],
    ['Edit(**)', edit('a'), true],
    ['Edit(./**)', edit('evil/passwd'), false],
    ['Edit(./**)', edit('evil/new'), false],
    ['Edit(evil/**)', edit('evil/passwd'), false],
    ['Edit(./src/**)', edit('in/a.ts'), false],
    ['Edit(*.ts)', edit('a/b/c.ts'), true],
    ['Edit(*.ts)', edit('a/b/c.tsx'), false],
    ['Edit(docs)', edit('docs/a/b.md'), true],
    ['Read(~/x)', read('/home/ada/x'), true],
    ['Read(~/x)', read('~/x'), false],
    ['Read(//etc/**)', read('/etc/hosts'), true],
    ['Read(//etc/**)', read('../../etc/hosts'), true],
    ['Read(src/**)', grep('src'), true],
    ['Read(src/**)', grep('src/a', 'Glob', '*.ts'), true],
    ['Read(src/**)', grep('src', 'Glob', '../**'), false],
    ['Read(src/**)', grep(null), false],
    ['Read(./**)', grep(null), true],
    ['Edit(a?.ts)', edit('ab.ts'), true],
    ['Edit(src/**)', edit('src/a\nb'), false],
  ])('allowed by %s: %j? %s', (text, use, expected) => expect(allows(text, use)).toBe(expected))

  test.each([
    ['Read(.env)', read('.env'), true],
    ['Read(.env)', read('sub/.ENV'), true],
    ['Read(.env)', read('src/x'), false],
    ['Read(.env)', grep('src'), 'unsure'],
    ['Read(secrets/**)', grep('src'), false],
    ['Read(secrets/**)', grep(null), 'unsure'],
    ['Read(~/.ssh/**)', grep(null), false],
    ['Read(//etc/**)', read('evil/passwd'), true],
    ['Edit(src/**)', edit('in/a.ts'), true],
    ['Edit(in/**)', edit('src/a.ts'), true],
    ['Edit(//link/src/**)', edit('src/a.ts'), true],
    ['Edit(src/**)', edit('~/a'), 'unsure'],
    ['Edit(src/**)', edit('docs/a'), false],
  ])('limited by %s: %j? %s', (text, use, expected) => expect(limits(text, use)).toBe(expected))

  test('a path that leaves the folder, in whatever way, is not allowed by a rule for the folder', () => {
    const part = fc.constantFrom('..', '.', '', 'src', 'evil', 'in', 'new', 'a.ts')
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), fc.boolean(), (parts, absolute) => {
        const path = `${absolute ? '/space/app/' : ''}${parts.join('/')}`
        if (!allows('Edit(./src/**)', edit(path))) return
        const walked: string[] = []
        for (const one of path.startsWith('/') ? path.split('/') : ['space', 'app', ...parts])
          if (one === '..') walked.pop()
          else if (one !== '.' && one !== '') walked.push(one)
        expect(`/${walked.join('/')}`).toMatch(/^\/space\/app\/src\/./)
      }),
      { numRuns: 2000 },
    )
  })
})

test.each([
  ['WebFetch(domain:example.com)', 'https://example.com/x', true],
  ['WebFetch(domain:Example.com)', 'https://EXAMPLE.com.:8443/', true],
  ['WebFetch(domain:example.com)', 'https://www.example.com/', false],
  ['WebFetch(domain:*.example.com)', 'https://www.example.com/', true],
  ['WebFetch(domain:*.example.com)', 'https://notexample.com/', false],
  ['WebFetch(domain:example.com)', 'https://example.com@evil.com/', false],
  ['WebFetch(domain:example.com)', 'file://example.com/etc/passwd', false],
  ['WebFetch(domain:example.com)', 'example.com', false],
  ['WebFetch', 'anything', true],
])('allowed by %s: %s? %s', (text, url, expected) => expect(allows(text, fetching(url))).toBe(expected))

test('a limit for a domain is one for what is below it', () => {
  expect(limits('WebFetch(domain:example.com)', fetching('https://www.example.com/'))).toBe(true)
  expect(limits('WebFetch(domain:example.com)', fetching('https://example.org/'))).toBe(false)
  expect(limits('WebFetch(domain:example.com)', fetching('nonsense'))).toBe('unsure')
})

test.each([
  ['mcp__github', 'mcp__github__create_issue', true],
  ['mcp__github', 'mcp__github2__create_issue', false],
  ['mcp__github__*', 'mcp__github__create_issue', true],
  ['mcp__github__get_*', 'mcp__github__get_issue', true],
  ['mcp__github__get_*', 'mcp__github__create_issue', false],
  ['mcp__github__get', 'mcp__github__get', true],
  ['mcp__*', 'mcp__files__read', true],
  ['WebSearch', 'WebSearch', true],
  ['Edit', 'Write', true],
  ['Write', 'Edit', false],
  ['Read', 'LS', true],
])('%s is about %s? %s', (text, name, expected) => expect(allows(text, tool(name))).toBe(expected))

test.each([
  ['', /empty/],
  ['bash(git status)', /write Bash\(git status\)/],
  ['Bsh(git:*)', /write Bash\(git:\*\)/],
  ['Bash(git status', /write Bash\(git status\)/],
  ['git status:*', /write Bash\(git status:\*\)/],
  ['Bash()', /write Bash$/],
  ['Bash(cd x && npm:*)', /one rule for each/],
  ['Bash(echo $X:*)', /one simple command/],
  ['Bash(git:* main)', /write Bash\(git \* main\)/],
  ['Read(/etc/passwd)', /write \/\/etc\/passwd for an absolute path, or \.\/etc\/passwd/],
  ['Edit(../x)', /"\.\."/],
  ['Edit(!x)', /excluded/],
  ['WebFetch(https://example.com/x)', /write WebFetch\(domain:example\.com\)/],
  ['WebFetch(example.com)', /write WebFetch\(domain:example\.com\)/],
  ['WebSearch(x)', /write WebSearch/],
  ['mcp__a__b(x)', /write mcp__a__b/],
  ['mcp__', /mcp__server/],
  ['Bash(a\nb)', /line break/],
  ['Bash(a\u200Bb)', /invisible/],
])('%j is no rule: %s', (text, why) => expect(parseRule(text)).toMatch(why))

test('any text is a rule or a sentence, and a rule allows nothing of another tool', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map(text => `Bash(${text})`),
        fc.string().map(text => `Edit(${text})`),
      ),
      text => {
        const parsed = parseRule(text)
        if (typeof parsed === 'string') expect(parsed).not.toBe('')
        else if (parsed.tool === 'Bash') expect(covers([parsed], edit('a'), context)).toBe(false)
        else if (parsed.tool === 'Edit') expect(covers([parsed], bash('a'), context)).toBe(false)
      },
    ),
  )
})
