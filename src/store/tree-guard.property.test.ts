// Whatever a guest's turn does to the workspace, and whenever the gateway is killed: afterwards it is as if the guest had not been there.
import {
  appendFileSync,
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeStage, ofGuest, ofOwner, openStage, type Stage } from './file-guard.fixture.ts'

const names = [
  'a',
  'b',
  'CLAUDE.md',
  'memory.md',
  '.mcp.json',
  '.claude',
  'skills',
  'x\ny',
  '.opencode',
  'guests',
  'SKILL.md',
]
const path = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 }).map(parts => parts.join('/'))
const text = fc.constantFrom('', 'one\n', 'two\n', 'a longer text\n', '\u0000\u00ff')

type Edit =
  | { readonly do: 'write' | 'append'; readonly path: string; readonly text: string }
  | { readonly do: 'remove' | 'folder'; readonly path: string }
  | { readonly do: 'move' | 'link' | 'hardlink'; readonly path: string; readonly to: string }
  | { readonly do: 'mode'; readonly path: string; readonly mode: number }
const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('write' as const, 'append' as const), path, text }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'folder' as const), path }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('move' as const, 'link' as const, 'hardlink' as const),
      path,
      to: path,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('mode' as const), path, mode: fc.constantFrom(0o644, 0o755, 0o700) }),
  },
)

/** Edits that are not possible, such as a file in a file, are left out. */
function make(dir: string, one: Edit): void {
  const at = join(dir, one.path)
  try {
    switch (one.do) {
      case 'write':
      case 'append':
        mkdirSync(dirname(at), { recursive: true })
        return one.do === 'write' ? writeFileSync(at, one.text) : appendFileSync(at, one.text)
      case 'remove':
        return rmSync(at, { recursive: true })
      case 'folder':
        return void mkdirSync(at, { recursive: true })
      case 'move':
        return renameSync(at, join(dir, one.to))
      case 'link':
        return symlinkSync(one.to, at)
      case 'hardlink':
        return linkSync(at, join(dir, one.to))
      case 'mode':
        return lstatSync(at).isSymbolicLink() ? undefined : chmodSync(at, one.mode)
      default:
        one satisfies never
    }
  } catch {
    // Not possible.
  }
}

/** Everything but the gateway's own state and the guest's own folder. */
function stateOf(dir: string, folder = ''): Record<string, string> {
  return Object.fromEntries(
    readdirSync(join(dir, folder)).flatMap(name => {
      const at = join(folder, name)
      if (at === '.aetheel' || at === 'guests/eve') return []
      const stat = lstatSync(join(dir, at))
      const mode = (stat.mode & 0o777).toString(8)
      if (stat.isSymbolicLink()) return [[at, `link ${readlinkSync(join(dir, at))}`]]
      if (!stat.isDirectory()) return [[at, `${modeIn(at, mode)}${readFileSync(join(dir, at), 'latin1')}`]]
      // The folder that all guests' folders are in comes with the first guest.
      return [...(at === 'guests' ? [] : [[at, `folder ${mode}`]]), ...Object.entries(stateOf(dir, at))]
    }),
  )
}

/** Of a file with a history, the text is restored, readable at most by those who could read it. */
const modeIn = (file: string, mode: string) =>
  ['memory.md', 'CLAUDE.md', '.mcp.json'].includes(file) ? '' : `${mode} `

interface Course {
  readonly before: readonly Edit[]
  readonly edits: readonly Edit[]
  readonly record: string | null
  readonly later: readonly Edit[]
  readonly kill: boolean
}
const course: fc.Arbitrary<Course> = fc.record({
  before: fc.array(edit, { maxLength: 12 }),
  edits: fc.array(edit, { maxLength: 8 }),
  record: fc.option(fc.constantFrom('[]\n', '[1]\n')),
  later: fc.array(edit, { maxLength: 4 }),
  kill: fc.boolean(),
})

async function guestTurn(stage: Stage, { edits, record, later, kill }: Course): Promise<Stage> {
  const guest = ofGuest()
  const leave = stage.fileGuard.guardTurn(guest)
  expect(await leave.ready).toBeNull()
  for (const one of edits) make(stage.dir, one)
  writeFileSync(join(stage.dir, 'brain.json'), '["by the guest"]')
  if (record !== null) {
    // As the gateway does it for the owner, meanwhile.
    await stage.fileGuard.tree.settle('brain.json')
    writeFileSync(join(stage.dir, 'brain.json'), record)
    stage.fileGuard.tree.wrote('brain.json')
  }
  for (const one of later) make(stage.dir, one)
  try {
    mkdirSync(join(stage.dir, 'guests/eve'), { recursive: true })
    writeFileSync(join(stage.dir, 'guests/eve/own.txt'), 'mine')
  } catch {
    // Something else is in its place.
  }
  if (kill) return stage.restart([guest], true)
  await leave()
  return stage
}

test('after a guest’s turn the workspace is as before, also after a kill, except for what the gateway itself wrote', async () => {
  await fc.assert(
    fc.asyncProperty(course, async given => {
      let stage = await openStage({ 'memory.md': 'first\n', 'brain.json': '[0]\n' })
      try {
        for (const one of given.before) make(stage.dir, one)
        rmSync(join(stage.dir, 'brain.json'), { recursive: true, force: true })
        writeFileSync(join(stage.dir, 'brain.json'), '[0]\n')
        // Makes what is missing, so that it is not what the guest is blamed for.
        await stage.fileGuard.catchUp()
        const expected = { ...stateOf(stage.dir), ...(given.record && { 'brain.json': `644 ${given.record}` }) }
        stage = await guestTurn(stage, given)
        expect(stateOf(stage.dir)).toEqual(expected)
        // A second turn that does nothing finds nothing.
        const waiting = stage.waits.length
        const leave = stage.fileGuard.guardTurn(ofGuest(3))
        await leave.ready
        await leave()
        expect(stage.waits).toHaveLength(waiting)
        expect(stateOf(stage.dir)).toEqual(expected)
      } finally {
        await closeStage(stage)
      }
    }),
    { numRuns: 40 },
  )
}, 120_000)

test('what the owner’s agent writes beside a guest’s turn is in the log if it is not in its place', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('notes.md', 'site/index.html', 'a.txt'), text), { maxLength: 6 }),
      async edits => {
        const stage = await openStage({ 'notes.md': 'first\n' })
        try {
          const guest = stage.fileGuard.guardTurn(ofGuest())
          await guest.ready
          const owner = stage.fileGuard.guardTurn(ofOwner())
          await owner.ready
          const last = new Map<string, string>()
          for (const [file, content] of edits) {
            make(stage.dir, { do: 'write', path: file, text: content })
            last.set(file, content)
          }
          await owner()
          await guest()
          expect(stage.text('notes.md')).toBe('first\n')
          for (const change of stage.waits) expect(await stage.fileGuard.approve(change.id)).toMatchObject({ ok: true })
          for (const [file, content] of last) expect(readFileSync(join(stage.dir, file), 'utf8')).toBe(content)
        } finally {
          await closeStage(stage)
        }
      },
    ),
    { numRuns: 20 },
  )
}, 60_000)
