// What tools do, as people see it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { longestOutput, longestWork } from '../base/tool-use.ts'
import { boundedOutput, lineDiff, workOf } from './tool-work.ts'

describe('the work of a tool', () => {
  test.each([
    ['Bash', { command: 'ls -l', description: 'List' }, { kind: 'command', command: 'ls -l' }],
    ['Read', { file_path: '/a' }, { kind: 'read', path: '/a' }],
    ['LS', {}, { kind: 'read', path: '.' }],
    ['Grep', { pattern: 'x.*', path: 'src' }, { kind: 'search', query: 'x.*', path: 'src' }],
    ['Glob', { pattern: '*.md' }, { kind: 'search', query: '*.md', path: null }],
    ['WebSearch', { query: 'tea' }, { kind: 'search', query: 'tea', path: null }],
    ['WebFetch', { url: 'http://x/', prompt: 'p' }, { kind: 'fetch', url: 'http://x/' }],
    ['Write', { file_path: 'a', content: 'one\ntwo\n' }, { kind: 'edit', path: 'a', diff: '+one\n+two' }],
    [
      'Edit',
      { filePath: 'a', oldString: 'one\ntwo', newString: 'one\n2' },
      { kind: 'edit', path: 'a', diff: ' one\n-two\n+2' },
    ],
    [
      'Edit',
      { file_path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
      { kind: 'edit', path: 'a', diff: '@@ every occurrence @@\n-x\n+y' },
    ],
    [
      'MultiEdit',
      { path: 'a', edits: [{ oldText: '1', newText: '2' }, { old_string: '3' }] },
      { kind: 'edit', path: 'a', diff: '-1\n+2\n@@\n-3' },
    ],
    [
      'NotebookEdit',
      { notebook_path: 'n.ipynb', cell_id: 'c1', new_source: 'x = 1' },
      { kind: 'edit', path: 'n.ipynb', diff: '@@ cell c1 replace @@\n+x = 1' },
    ],
    [
      'TodoWrite',
      { todos: [{ content: 'a', status: 'completed' }, { content: 'b', status: 'in_progress' }, { content: 'c' }] },
      {
        kind: 'todo',
        items: [
          { text: 'a', state: 'done' },
          { text: 'b', state: 'active' },
          { text: 'c', state: 'open' },
        ],
      },
    ],
    ['mcp__x__y', { a: [1] }, { kind: 'other', input: '{\n  "a": [\n    1\n  ]\n}' }],
    ['constructor', { a: 1 }, { kind: 'other', input: '{\n  "a": 1\n}' }],
    // Without what it is about, all of the input is shown.
    ['Bash', { cmd: 'x' }, { kind: 'other', input: '{\n  "cmd": "x"\n}' }],
  ])('%s %j', (tool, input, work) => expect(workOf(tool, input)).toEqual(work))

  test('any input of any tool gives some work, and it is bounded', () => {
    const tools = [
      'Bash',
      'Edit',
      'MultiEdit',
      'Write',
      'NotebookEdit',
      'Read',
      'LS',
      'Grep',
      'WebFetch',
      'TodoWrite',
      'x',
    ]
    const key = fc.constantFrom('command', 'file_path', 'path', 'edits', 'old_string', 'new_string', 'content', 'todos')
    const value = fc.oneof(fc.anything(), fc.string(), fc.array(fc.dictionary(key, fc.string())))
    fc.assert(
      fc.property(fc.constantFrom(...tools), fc.dictionary(key, value), (tool, input) => {
        expect(JSON.stringify(workOf(tool, input)).length).toBeLessThan(4 * longestWork)
      }),
      { numRuns: 500 },
    )
  })

  test('what is too long is cut and says so, and what is nested too deeply is not shown', () => {
    const long = 'ä'.repeat(longestWork * 3)
    const { command } = workOf('Bash', { command: long }) as { command: string }
    expect(command.length).toBeLessThanOrEqual(longestWork)
    expect(command).toMatch(/ more characters @@$/)
    const { diff } = workOf('Write', { file_path: 'a', content: `${'x\n'.repeat(5_000_000)}` }) as { diff: string }
    expect(diff.length).toBeLessThanOrEqual(longestWork)
    let deep: Record<string, unknown> = {}
    for (let i = 0; i < 50_000; i++) deep = { deep }
    expect(workOf('x', deep)).toMatchObject({ kind: 'other' })
  })
})

describe('a line diff', () => {
  const line = fc.constantFrom('', 'a', 'b', '+c', '- d', '@@ e')
  const text = fc.array(line, { maxLength: 20 }).map(lines => lines.join('\n'))

  test('has only lines of the four kinds, and its lines are those of both texts', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = lineDiff(before, after).split('\n').filter(Boolean)
        for (const one of lines) expect(one).toMatch(/^(?:[ +-]|@@$)/)
        const count = (of: string, sign: string) =>
          lines.filter(one => one.startsWith(sign)).every(one => of.split('\n').includes(one.slice(1)))
        expect(count(before, '-')).toBe(true)
        expect(count(after, '+')).toBe(true)
        // A line break at the end is not a line, but an empty line is one.
        const ending = (of: string) => (of === '' ? null : of.replace(/\n$/, ''))
        expect(lines.length === 0).toBe(ending(before) === ending(after))
      }),
      { numRuns: 500 },
    )
  })

  test('shows distant changes apart, with three lines around each', () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`)
    const changed = lines.with(2, 'two').with(25, 'twenty-five')
    expect(lineDiff(lines.join('\n'), changed.join('\n')).split('\n')).toEqual([
      ...[' line 0', ' line 1', '-line 2', '+two', ' line 3', ' line 4', ' line 5', '@@'],
      ...[' line 22', ' line 23', ' line 24', '-line 25', '+twenty-five', ' line 26', ' line 27', ' line 28'],
    ])
  })
})

test('long output keeps its beginning and its end', () => {
  expect(boundedOutput('short')).toBe('short')
  const cut = boundedOutput(`first${'😀'.repeat(longestOutput)}last`)
  expect(cut.length).toBeLessThanOrEqual(longestOutput)
  expect(cut).toMatch(/^first[\s\S]* characters left out …\n[\s\S]*last$/)
  expect(cut.isWellFormed()).toBe(true)
})
