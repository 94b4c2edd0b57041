// The work of an event in words.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Fence, fenceAfter } from '../base/fence.ts'
import type { WorkItem } from '../base/work.ts'
import { workDocument, workLines } from './work-words.ts'

const ran = (command: string, given: Partial<Extract<WorkItem, { kind: 'action' }>> = {}): WorkItem => ({
  ...{ kind: 'action', at: 0, endedAt: 1500, ok: true, label: 'Run', asked: null },
  ...{ use: { tool: 'Bash', work: { kind: 'command', command } }, result: null },
  ...given,
})

test('the list under an answer has one line for each action, and says what failed and who allowed it', () => {
  const items: WorkItem[] = [
    { kind: 'thought', at: 0, text: 'Hm.' },
    ran('npm test', { asked: { state: 'allowed', by: 'Ada' } }),
    ran('a\n`b`', { ok: false, endedAt: 10, result: { output: '', exit: 2 } }),
    ran('', { use: null, label: 'Use *something*', ok: null, endedAt: null }),
  ]
  expect(workLines({ event: 1, items })).toBe(
    [
      '**What I did**',
      '- Bash `npm test` (allowed by Ada, 1.5 s)',
      '- Bash `a ˋbˋ` (exit 2)',
      '- Use \\*something\\* (not finished)',
    ].join('\n'),
  )
  expect(workLines({ event: 1, items: [] })).toBe('')
  const many = workLines({ event: 1, items: Array.from({ length: 30 }, () => ran('x')) })
  expect(many.split('\n')).toHaveLength(22)
  expect(many).toContain('- and 10 more')
})

test('the document has commands, output, diffs, lists and thoughts', () => {
  const document = workDocument({
    event: 7,
    items: [
      { kind: 'thought', at: 0, text: 'First look.\nThen act.' },
      ran('ls', { result: { output: 'a.txt\n', exit: 0 } }),
      ran('', { use: { tool: 'Edit', work: { kind: 'edit', path: 'a.txt', diff: '-old\n+new\n' } } }),
      ran('', { use: { tool: 'Todo', work: { kind: 'todo', items: [{ text: 'Dig', state: 'done' }] } } }),
      { kind: 'cut', at: 9 },
    ],
  })
  for (const part of ['> First look.\n> Then act.', '```sh\nls\n```', '```\na.txt\n```', '```diff\n-old\n+new\n```'])
    expect(document).toContain(part)
  expect(document).toContain('## Edit `a.txt`')
  expect(document).toContain('- [x] Dig')
  expect(document).toContain('Later steps were not stored.')
})

test('whatever a command or its output contains, every block is closed', () => {
  const text = fc
    .array(fc.constantFrom('`', '```', '~~~', '\n', 'x', '````', ' '), { maxLength: 30 })
    .map(all => all.join(''))
  fc.assert(
    fc.property(text, text, (command, output) => {
      const document = workDocument({ event: 1, items: [ran(command, { result: { output, exit: 0 } })] })
      let open: Fence | null = null
      for (const line of document.split('\n')) open = fenceAfter(line, open)
      expect(open).toBeNull()
    }),
  )
})
