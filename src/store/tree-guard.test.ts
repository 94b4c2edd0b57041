// The guarded trees: what is found, what is put back, and what is not looked at.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { closeStage, ofGuest, ofOwner, openStage, type Stage, type StageOptions } from './file-guard.fixture.ts'

let stage: Stage
afterEach(() => closeStage(stage))

const put = (file: string, text: string | Buffer = 'evil\n') => {
  mkdirSync(dirname(join(stage.dir, file)), { recursive: true })
  writeFileSync(join(stage.dir, file), text)
}
const isThere = (file: string) => existsSync(join(stage.dir, file))

async function open(files: Readonly<Record<string, string>> = {}, options: StageOptions = {}): Promise<void> {
  stage = await openStage(files, options)
}

async function guestTurn(work: () => void): Promise<void> {
  const leave = stage.fileGuard.guardTurn(ofGuest())
  expect(await leave.ready).toBeNull()
  work()
  await leave()
}

test('a pipe, a socket name, a huge file, odd names and a name that is not UTF-8 are taken away', async () => {
  await open()
  const odd = Buffer.concat([Buffer.from(`${stage.dir}/`), Buffer.from([0xff, 0x0a, 0xfe])])
  await guestTurn(() => {
    execFileSync('mkfifo', [join(stage.dir, 'pipe')])
    writeFileSync(odd, 'x')
    put('huge.bin', '')
    truncateSync(join(stage.dir, 'huge.bin'), 5 * 1024 ** 3)
    put('a\nb/c')
  })
  expect(readdirSync(stage.dir).sort()).toEqual(['.aetheel', 'memory.md'])
  expect(stage.problems).toEqual([])
  for (const { file } of stage.waits) expect(file).toMatch(/^\P{C}+$/u)
})

test('a change is put back from what was stored, whatever kind of file it is', async () => {
  await open({ 'notes.md': 'a\n' })
  put('bin.dat', Buffer.from([0, 255, 1]))
  symlinkSync('notes.md', join(stage.dir, 'link'))
  await guestTurn(() => {
    put('bin.dat', Buffer.from([9]))
    rmSync(join(stage.dir, 'link'))
    put('link', 'no longer a link\n')
    rmSync(join(stage.dir, 'notes.md'))
    put('notes.md/inside')
  })
  expect([...readFileSync(join(stage.dir, 'bin.dat'))]).toEqual([0, 255, 1])
  expect(lstatSync(join(stage.dir, 'link')).isSymbolicLink()).toBe(true)
  expect(stage.text('notes.md')).toBe('a\n')
  const change = stage.waits.find(({ file }) => file === 'bin.dat')
  expect(await stage.fileGuard.approve(change?.id ?? 0)).toMatchObject({ ok: true })
  expect([...readFileSync(join(stage.dir, 'bin.dat'))]).toEqual([9])
})

test('only the guest’s own folder stays, not that of another guest', async () => {
  await open()
  put('guests/bob/note.md', 'bob\n')
  await guestTurn(() => {
    put('guests/eve/note.md')
    put('guests/bob/note.md')
    put('guests/carl/note.md')
  })
  expect(stage.text('guests/eve/note.md')).toBe('evil\n')
  expect(stage.text('guests/bob/note.md')).toBe('bob\n')
  expect(isThere('guests/carl')).toBe(false)
})

test('a flood of files has a few entries in the log, one notice for the rest, and nothing of it stays', async () => {
  await open({ 'notes.md': 'a\n' })
  await guestTurn(() => {
    for (let i = 0; i < 700; i++) put(`skills/filler${i}/SKILL.md`)
    for (let i = 0; i < 300; i++) put(`file${i}`)
  })
  expect(readdirSync(stage.dir).sort()).toEqual(['.aetheel', 'memory.md', 'notes.md'])
  expect(stage.waits.length).toBeLessThan(40)
  const rest = stage.waits.find(({ file }) => /^\(\d+ more files and folders\)$/.test(file))
  expect(rest?.diff).toContain('file')
  expect(await stage.fileGuard.approve(rest?.id ?? 0)).toMatchObject({
    ok: false,
    why: expect.stringContaining('by hand'),
  })
})

test('a workspace that is too large to guard lets no guest’s turn begin, and the owner’s as before', async () => {
  await open({}, { treeLimits: { entries: 20, fileBytes: 1000, bytes: 10_000 } })
  for (let i = 0; i < 30; i++) put(`data/${i}`)
  const guest = stage.fileGuard.guardTurn(ofGuest())
  expect(await guest.ready).toContain('more than 20 files and folders')
  await guest()
  const owner = stage.fileGuard.guardTurn(ofOwner())
  expect(await owner.ready).toBeNull()
  await owner()
  rmSync(join(stage.dir, 'data'), { recursive: true })
  for (let i = 0; i < 12; i++) put(`big/${i}`, 'x'.repeat(999))
  const again = stage.fileGuard.guardTurn(ofGuest())
  expect(await again.ready).toContain('10000 bytes')
  await again()
})

test('of a file too large to be stored, a guest’s version is taken away and kept for the owner', async () => {
  await open({}, { treeLimits: { entries: 100, fileBytes: 10, bytes: 10_000 } })
  put('large.txt', 'the owner’s text\n')
  await guestTurn(() => put('large.txt', 'something else entirely\n'))
  expect(isThere('large.txt')).toBe(false)
  expect(stage.problems).toEqual([expect.stringContaining('too large to be kept')])
  expect(await stage.fileGuard.approve(stage.waits[0]?.id ?? 0)).toMatchObject({ ok: true })
  expect(stage.text('large.txt')).toBe('something else entirely\n')
})

test('a turn that a wall holds is not looked at, and edits by hand beside it are the owner’s', async () => {
  await open({ 'notes.md': 'a\n' })
  const leave = stage.fileGuard.guardTurn(ofGuest(), true)
  expect(await leave.ready).toBeNull()
  put('notes.md', 'by the owner\n')
  put('memory.md', '# Memory\n- by the owner\n')
  await leave()
  expect(stage.text('notes.md')).toBe('by the owner\n')
  expect(stage.text()).toBe('# Memory\n- by the owner\n')
  expect(stage.waits).toEqual([])
})

test('instructions and settings in the home folder and above the workspace are put back too', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aetheel-home-'))
  const at = (file: string) => join(home, file)
  mkdirSync(at('.claude/sessions'), { recursive: true })
  writeFileSync(at('.claude/CLAUDE.md'), 'mine\n')
  await open({}, { around: { home, cwd: home } })
  await guestTurn(() => {
    for (const file of ['.claude/CLAUDE.md', '.claude/settings.json', '.bashrc', '.env', '.claude/sessions/1']) {
      writeFileSync(at(file), 'evil\n')
    }
  })
  expect(readFileSync(at('.claude/CLAUDE.md'), 'utf8')).toBe('mine\n')
  expect(['.claude/settings.json', '.bashrc', '.env'].filter(file => existsSync(at(file)))).toEqual([])
  expect(existsSync(at('.claude/sessions/1'))).toBe(true)
  expect(stage.waits.map(({ file }) => file)).toContain('~/.claude/CLAUDE.md')
  rmSync(home, { recursive: true })
})

test('in the owner’s turn only what widens power is put back; codex may note which folders it trusts', async () => {
  const home = mkdtempSync(join(tmpdir(), 'aetheel-home-'))
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex/config.toml'), 'model = "x"\n')
  await open({ 'notes.md': 'a\n' }, { around: { home, cwd: home } })
  const leave = stage.fileGuard.guardTurn(ofOwner())
  await leave.ready
  put('notes.md', 'b\n')
  put('.claude/rules/x.md', 'fine\n')
  // Claude would run the hooks in it.
  put('.claude/agents/x.md')
  put('.opencode/plugin/x.js')
  put('.opencode/package.json', '{}')
  put('.env')
  const trusted = 'model = "x"\n\n[projects."/w"]\ntrust_level = "trusted"\n'
  writeFileSync(join(home, '.codex/config.toml'), trusted)
  await leave()
  expect([stage.text('notes.md'), stage.text('.claude/rules/x.md')]).toEqual(['b\n', 'fine\n'])
  expect([isThere('.opencode/plugin/x.js'), isThere('.env'), isThere('.opencode/package.json')]).toEqual([
    false,
    false,
    true,
  ])
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toBe(trusted)
  expect(stage.waits.map(({ file, owner }) => [file, owner])).toEqual([
    ['.claude/agents/x.md', true],
    ['.env', true],
    ['.opencode/plugin/x.js', true],
  ])
  expect(await stage.fileGuard.approve(stage.waits[1]?.id ?? 0)).toMatchObject({ ok: true })
  expect(stage.text('.env')).toBe('evil\n')
  const next = stage.fileGuard.guardTurn(ofOwner(5))
  await next.ready
  await next()
  expect(stage.text('.env')).toBe('evil\n')
  rmSync(home, { recursive: true })
})

test('a skill that the owner adds on the Files page while a guest’s turn runs stays, and nothing that the guest puts beside it', async () => {
  await open()
  const leave = stage.fileGuard.guardTurn(ofGuest())
  await leave.ready
  const text = '---\nname: tea\ndescription: Makes tea.\n---\n'
  expect(await stage.fileGuard.own.write('skills/tea/SKILL.md', text, null)).toMatchObject({ type: 'written' })
  put('skills/tea/run.sh')
  put('.aetheel/token', 'the guest’s\n')
  await leave()
  expect(stage.text('skills/tea/SKILL.md')).toBe(text)
  expect([isThere('skills/tea/run.sh'), isThere('.aetheel/token')]).toEqual([false, false])
})

test('a message file that a guest’s turn drops is in doubt while the turn runs; one from before is not', async () => {
  await open()
  put('ipc/outbound/mine.md', 'hello')
  const leave = stage.fileGuard.guardTurn(ofGuest())
  await leave.ready
  put('ipc/outbound/evil.md')
  expect(stage.fileGuard.tree.isInDoubt('ipc/outbound/mine.md')).toBe(false)
  expect(stage.fileGuard.tree.isInDoubt('ipc/outbound/evil.md')).toBe(true)
  await leave()
  expect([isThere('ipc/outbound/mine.md'), isThere('ipc/outbound/evil.md')]).toEqual([true, false])
})

test('after a kill, what a guest left in a new folder is taken away even if the owner has used the folder since', async () => {
  await open()
  const guest = ofGuest()
  await stage.fileGuard.guardTurn(guest).ready
  put('new/evil.md')
  await new Promise(resolve => setTimeout(resolve, 700))
  put('new/mine.md', 'mine\n')
  stage = await stage.restart([guest])
  expect([isThere('new/evil.md'), stage.text('new/mine.md')]).toEqual([false, 'mine\n'])
})
