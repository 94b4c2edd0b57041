// The owner edits persona files on a page while turns of the owner and of guests change the same files.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { closeStage, ofGuest, ofOwner, openStage, type Stage } from './file-guard.fixture.ts'
import { versionOf } from './guarded-files.ts'

let stage: Stage
afterEach(() => closeStage(stage))

/** A folder that is not in the workspace. */
function elsewhere(): string {
  const folder = mkdtempSync(join(tmpdir(), 'aetheel-elsewhere-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const hashOf = (text: string) => versionOf(text).hash
const log = async () =>
  (await stage.fileGuard.list(100)).map(({ file, events, owner, state }) => ({ file, events, owner, state }))
const made = (file: string, ...events: number[]) => ({ file, events, owner: true, state: 'made' })

test('a save by the owner is recorded immediately as a change by hand with its diff, and can be undone', async () => {
  stage = await openStage({ 'soul.md': 'calm\n' })
  const { own } = stage.fileGuard
  expect(await own.read('soul.md')).toEqual({ type: 'text', text: 'calm\n', version: hashOf('calm\n') })
  const written = await own.write('soul.md', 'calm\nkind\n', hashOf('calm\n'))
  expect(written).toMatchObject({
    ...{ type: 'written', version: hashOf('calm\nkind\n') },
    change: { file: 'soul.md', events: [], lane: null, person: null, owner: true, state: 'made' },
  })
  expect(stage.text('soul.md')).toBe('calm\nkind\n')
  expect(await stage.fileGuard.list(9)).toMatchObject([{ diff: '@@ -1 +1,2 @@\n calm\n+kind' }])
  expect(await stage.fileGuard.undo(1)).toMatchObject({ ok: true })
  expect(stage.text('soul.md')).toBe('calm\n')
  expect(await own.write('soul.md', 'calm\n', hashOf('calm\n'))).toEqual({
    ...{ type: 'written', version: hashOf('calm\n'), change: null },
  })
  expect(readdirSync(stage.dir).filter(name => name.endsWith('.tmp'))).toEqual([])
})

test('a save based on an old version writes nothing and returns the current text', async () => {
  stage = await openStage({ 'user.md': 'Ada\n' })
  const { own } = stage.fileGuard
  stage.write('user.md', 'Ada, by hand\n')
  const theirs = { type: 'stale', text: 'Ada, by hand\n', version: hashOf('Ada, by hand\n') }
  expect(await own.write('user.md', 'mine\n', hashOf('Ada\n'))).toEqual(theirs)
  expect(await own.write('user.md', 'mine\n', null)).toEqual(theirs)
  expect(await own.write('user.md', 'mine\n', 'nonsense')).toEqual(theirs)
  expect(await own.write('boot.md', 'mine\n', hashOf('x'))).toEqual({ type: 'stale', text: '', version: null })
  expect(stage.text('user.md')).toBe('Ada, by hand\n')
  expect(await own.write('user.md', 'mine\n', theirs.version)).toMatchObject({ type: 'written' })
  expect(await log()).toEqual([made('user.md'), made('user.md')])
})

test('of two simultaneous saves one is rejected as stale', async () => {
  stage = await openStage({ 'user.md': 'Ada\n' })
  const { own } = stage.fileGuard
  const saves = ['one\n', 'two\n', 'three\n'].map(text => own.write('user.md', text, hashOf('Ada\n')))
  expect((await Promise.all(saves)).map(({ type }) => type)).toEqual(['written', 'stale', 'stale'])
  expect(stage.text('user.md')).toBe('one\n')
})

test('during a turn of the owner: the turn keeps what it did, the owner what was saved over it', async () => {
  stage = await openStage()
  const { own } = stage.fileGuard
  const leave = stage.fileGuard.guardTurn(ofOwner(5))
  stage.write('memory.md', '# Memory\n- from the turn\n')
  expect(await own.write('memory.md', '# Memory\n- mine\n', hashOf('# Memory\n'))).toMatchObject({ type: 'stale' })
  const seen = await own.read('memory.md')
  expect(seen).toMatchObject({ text: '# Memory\n- from the turn\n' })
  const text = '# Memory\n- from the turn\n- mine\n'
  expect(await own.write('memory.md', text, hashOf('# Memory\n- from the turn\n'))).toMatchObject({ type: 'written' })
  await leave()
  expect(stage.text()).toBe(text)
  expect(await log()).toEqual([made('memory.md'), made('memory.md', 5)])
  expect((await stage.fileGuard.list(1))[0]?.diff).toContain('+- mine')
})

test('a turn that overwrites a save is recorded as the author of that change', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofOwner(5))
  await stage.fileGuard.own.write('memory.md', '# Memory\n- mine\n', hashOf('# Memory\n'))
  stage.write('memory.md', '# Memory\n- from the turn\n')
  await leave()
  const [turn, hand] = await stage.fileGuard.list(9)
  expect(turn).toMatchObject({ events: [5], diff: expect.stringContaining('-- mine') })
  expect(hand).toMatchObject({ events: [], owner: true })
  expect(await stage.fileGuard.undo(turn?.id ?? 0)).toMatchObject({ ok: true })
  expect(stage.text()).toBe('# Memory\n- mine\n')
})

test('during a guest’s turn the owner sees and saves the approved text, and the guest’s change waits', async () => {
  stage = await openStage()
  const { own } = stage.fileGuard
  const leave = stage.fileGuard.guardTurn(ofGuest(6))
  stage.write('memory.md', '# Memory\n- eve is the owner\n')
  stage.write('soul.md', 'wild\n')
  expect(await own.read('memory.md')).toEqual({ type: 'text', text: '# Memory\n', version: hashOf('# Memory\n') })
  expect(await own.read('soul.md')).toEqual({ type: 'text', text: '', version: null })
  expect((await own.list()).find(({ name }) => name === 'soul.md')).toMatchObject({ exists: false, state: 'absent' })
  expect(await own.write('memory.md', '# Memory\n- mine\n', hashOf('# Memory\n'))).toMatchObject({
    ...{ type: 'written', change: { owner: true, events: [], state: 'made' } },
  })
  expect(stage.text()).toBe('# Memory\n- mine\n')
  stage.write('memory.md', '# Memory\n- eve again\n')
  await leave()
  expect(stage.text()).toBe('# Memory\n- mine\n')
  const waiting = (await stage.fileGuard.list(9)).filter(({ state }) => state === 'waiting')
  expect(
    waiting.map(({ file, events, diff }) => [file, events, /eve is|eve again|wild/.exec(diff)?.[0]]).sort(),
  ).toEqual([
    ['memory.md', [6], 'eve again'],
    ['memory.md', [6], 'eve is'],
    ['soul.md', [6], 'wild'],
  ])
})

test('a skill can be created, listed, changed, removed and restored', async () => {
  stage = await openStage()
  const { own } = stage.fileGuard
  const file = 'skills/tea-time/SKILL.md'
  expect(await own.read(file)).toEqual({ type: 'text', text: '', version: null })
  expect(await own.write(file, 'one\n', null)).toMatchObject({ type: 'written' })
  expect((await own.list()).at(-1)).toMatchObject({ name: file, exists: true, bytes: 4, state: 'good', room: null })
  expect(await own.write(file, null, hashOf('one\n'))).toMatchObject({ type: 'written', version: null })
  expect(existsSync(join(stage.dir, 'skills/tea-time'))).toBe(false)
  expect(await own.write(file, null, null)).toEqual({ type: 'written', version: null, change: null })
  expect(await log()).toEqual([made(file), made(file)])
  expect(await stage.fileGuard.undo(2)).toMatchObject({ ok: true })
  expect(stage.text(file)).toBe('one\n')
})

test('no other name reaches the disk', async () => {
  stage = await openStage({ 'config.json': '{}', 'notes.md': 'x' })
  mkdirSync(join(stage.dir, 'skills'))
  const { own } = stage.fileGuard
  const before = readdirSync(stage.dir, { recursive: true }).sort()
  const tricks = fc.oneof(
    fc.constantFrom(
      ...['config.json', 'notes.md', '../memory.md', './memory.md', 'memory.md/', 'MEMORY.MD', '/etc/passwd', ''],
      ...['skills/../memory.md', 'skills/../SKILL.md', 'skills/./SKILL.md', 'skills//SKILL.md', 'skills/a/b/SKILL.md'],
      ...['skills/.hidden/SKILL.md', 'skills/a/SKILL.md/', 'skills/a/skill.md', 'skills/a\\..\\b/SKILL.md'],
      ...['skills/a\n/SKILL.md', 'skills/a/SKILL.md\n', 'skills/a\0/SKILL.md', 'memory.md\0', 'skills/%2e%2e/SKILL.md'],
      ...[`skills/${'a'.repeat(65)}/SKILL.md`, 'skills/ä/SKILL.md', '__proto__', 'constructor', 'toString'],
    ),
    fc.string({ maxLength: 40 }).map(name => `skills/${name}/../x`),
    fc
      .array(fc.constantFrom('..', '.', 'skills', 'a', 'memory.md', 'SKILL.md', '', '~'), { minLength: 1 })
      .map(parts => parts.join('/')),
  )
  const isRight = (name: string) => name === 'memory.md' || /^skills\/(?:a|skills)\/SKILL\.md$/.test(name)
  await fc.assert(
    fc.asyncProperty(tricks, async name => {
      if (isRight(name)) return
      expect(await own.read(name)).toEqual({ type: 'unknown' })
      expect(await own.write(name, 'x', null)).toEqual({ type: 'unknown' })
      expect(await own.write(name, null, null)).toEqual({ type: 'unknown' })
    }),
    { numRuns: 300 },
  )
  expect(readdirSync(stage.dir, { recursive: true }).sort()).toEqual(before)
})

test('links that lead out are refused, for reading, writing and removing; those inside are followed', async () => {
  stage = await openStage({ 'inside.md': 'in\n' })
  const { own } = stage.fileGuard
  const outside = elsewhere()
  mkdirSync(join(outside, 'folder'))
  writeFileSync(join(outside, 'secret.md'), 'secret')
  writeFileSync(join(outside, 'folder/SKILL.md'), 'secret')
  mkdirSync(join(stage.dir, 'skills'))
  symlinkSync(join(outside, 'secret.md'), join(stage.dir, 'soul.md'))
  symlinkSync(join(outside, 'nothing.md'), join(stage.dir, 'user.md'))
  symlinkSync(join(outside, 'folder'), join(stage.dir, 'skills/leads-out'))
  symlinkSync('inside.md', join(stage.dir, 'tools.md'))
  symlinkSync('boot.md', join(stage.dir, 'boot.md'))
  for (const file of ['soul.md', 'user.md', 'boot.md', 'skills/leads-out/SKILL.md']) {
    expect(await own.read(file)).toMatchObject({ type: 'unusable', why: /leads out/ })
    for (const text of ['mine', null])
      for (const version of [null, hashOf('secret')])
        expect(await own.write(file, text, version)).toMatchObject({ type: 'refused' })
    expect((await own.list()).find(({ name }) => name === file)).toMatchObject({ state: 'unusable' })
  }
  expect(await own.write('tools.md', 'changed\n', hashOf('in\n'))).toMatchObject({ type: 'written' })
  expect(stage.text('inside.md')).toBe('changed\n')
  expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret')
  expect(readdirSync(outside).sort()).toEqual(['folder', 'secret.md'])
})

test('if skills/ is a link out of the workspace, no folder is created there', async () => {
  stage = await openStage()
  const outside = elsewhere()
  symlinkSync(outside, join(stage.dir, 'skills'))
  expect(await stage.fileGuard.own.write('skills/mine/SKILL.md', 'x', null)).toMatchObject({ type: 'refused' })
  expect(readdirSync(outside)).toEqual([])
})

test('files that are not text, too large or unreadable are reported, and a large text is not stored in the log', async () => {
  stage = await openStage({ 'soul.md': 'x'.repeat(70_000), 'user.md': 'y'.repeat(1024 * 1024 + 1) })
  const { own } = stage.fileGuard
  writeFileSync(join(stage.dir, 'tools.md'), Buffer.from([0xff, 0xfe, 0x00]))
  mkdirSync(join(stage.dir, 'boot.md'))
  const found = new Map((await own.list()).map(file => [file.name, file]))
  expect(found.get('soul.md')).toMatchObject({ state: 'too-large', bytes: 70_000, room: 65_536, why: /shorten/ })
  for (const file of ['user.md', 'tools.md', 'boot.md']) {
    expect(found.get(file)).toMatchObject({ state: 'unusable', exists: true })
    expect(await own.read(file)).toMatchObject({ type: 'unusable' })
    expect(await own.write(file, 'x', null)).toMatchObject({ type: 'refused' })
  }
  expect(found.get('persona.md')).toMatchObject({ state: 'absent', exists: false, changedAt: null, bytes: 0 })
  expect(found.get('memory.md')).toMatchObject({ state: 'good', bytes: 9, changedAt: expect.any(Number) })
  const written = await own.write('soul.md', 'short\n', hashOf('x'.repeat(70_000)))
  expect(written).toMatchObject({ type: 'written', change: { diff: '(too large to be shown)' } })
})
