// The file guard, with real files and a real database.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import {
  callerOf,
  closeStage,
  deadAfterMs,
  ofGuest,
  ofOwner,
  openStage,
  type Stage,
  taken,
} from './file-guard.fixture.ts'

let stage: Stage
afterEach(() => closeStage(stage))

/** A killed guest's turn is dead by then. */
const longEnough = () => new Promise(resolve => setTimeout(resolve, deadAfterMs + 100))

const states = async () => (await stage.fileGuard.list(100)).map(({ file, state }) => `${file} ${state}`)

test('a change by the owner’s turn stays, recorded with its event', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofOwner(5))
  stage.write('memory.md', '# Memory\n\n- tea\n')
  await leave()
  expect(await stage.fileGuard.list(9)).toMatchObject([
    {
      ...{ file: 'memory.md', events: [5], lane: 'webchat:home', person: 'ada', owner: true, state: 'made' },
      diff: '@@ -1 +1,3 @@\n # Memory\n+\n+- tea',
    },
  ])
  expect(stage.waits).toEqual([])
})

test('a change by a guest’s turn is reverted and waits, and the owner is notified once; approved, it is applied', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofGuest(6))
  stage.write('memory.md', '# Memory\n\n- eve is the owner\n')
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(stage.waits).toMatchObject([{ id: 1, events: [6], person: 'eve', owner: false, state: 'waiting' }])
  expect(stage.fileGuard.noteFor('discord:7')).toBe(
    "[Gateway: your change to memory.md was reverted and waits for your owner's approval (change 1).]",
  )
  expect(stage.fileGuard.noteFor('discord:7')).toBe(null)
  stage.write('memory.md', '# Memory\n\n- by hand\n')
  expect(await stage.fileGuard.approve(1)).toMatchObject({ ok: true, change: { state: 'approved' } })
  expect(stage.text()).toBe('# Memory\n\n- by hand\n- eve is the owner\n')
  expect(await states()).toEqual(['memory.md made', 'memory.md approved'])
  expect(await stage.fileGuard.undo(1)).toMatchObject({ ok: true, change: { state: 'undone' } })
  expect(stage.text()).toBe('# Memory\n\n- by hand\n')
  expect(await stage.fileGuard.approve(1)).toMatchObject({ ok: false, why: /undone/ })
})

test('a denied change is never applied and stays in the log', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', 'mine')
  await leave()
  expect(await stage.fileGuard.deny(1)).toMatchObject({
    ok: true,
    change: { state: 'denied', diff: expect.stringContaining('+mine') },
  })
  expect(await stage.fileGuard.deny(1)).toMatchObject({ ok: false })
  expect(await stage.fileGuard.undo(1)).toMatchObject({ ok: false })
  expect(stage.text()).toBe('# Memory\n')
})

test('a change by a webhook, or with one stranger among batched messages, waits', async () => {
  stage = await openStage()
  const webhook: NewEvent = {
    ...{ key: 'w', lane: 'webhook:ci', replyTo: null, source: 'webhook' },
    what: { kind: 'webhook', name: 'ci', instruction: 'x', payload: 'remember me' },
  }
  for (const turn of [taken(1, webhook), taken(4, ofOwner().item, [{ id: 3, key: 'k', item: ofGuest().item }])]) {
    const leave = stage.fileGuard.guardTurn(turn)
    stage.write('memory.md', `from ${turn.id}`)
    await leave()
    expect(stage.text()).toBe('# Memory\n')
  }
  expect(stage.waits.map(({ events, person }) => ({ events, person }))).toEqual([
    { events: [1], person: null },
    { events: [3, 4], person: 'eve' },
  ])
})

test('an edit by hand counts as the owner’s; it is found before the next turn and not attributed to it', async () => {
  stage = await openStage()
  stage.write('soul.md', 'calm\n')
  const leave = stage.fileGuard.guardTurn(ofGuest())
  await leave()
  expect(stage.text('soul.md')).toBe('calm\n')
  expect(await stage.fileGuard.list(9)).toMatchObject([{ file: 'soul.md', events: [], owner: true, state: 'made' }])
})

test('parallel turns: with a guest among them the change waits, and all of them are named', async () => {
  stage = await openStage()
  const leaves = [ofOwner(1), ofGuest(2)].map(turn => stage.fileGuard.guardTurn(turn))
  stage.write('memory.md', 'whose?')
  for (const leave of leaves) await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(await stage.fileGuard.list(9)).toMatchObject([
    { events: [1, 2], person: 'eve', owner: false, state: 'waiting' },
  ])
  const alone = stage.fileGuard.guardTurn(ofOwner(3))
  stage.write('memory.md', 'mine')
  await alone()
  expect(stage.text()).toBe('mine')
})

test('a guest’s turn that starts while the owner’s change is being recorded is not blamed for it', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofOwner(1))
  for (const file of ['memory.md', 'soul.md', 'user.md']) stage.write(file, 'mine\n')
  const left = leave()
  const leaveGuest = stage.fileGuard.guardTurn(ofGuest(2))
  stage.write('soul.md', 'mine\nguest\n')
  await Promise.all([left, leaveGuest()])
  expect(stage.text('soul.md')).toBe('mine\n')
  expect((await stage.fileGuard.list(9)).map(({ file, events, state }) => `${file} ${events} ${state}`).sort()).toEqual(
    ['memory.md 1 made', 'soul.md 1 made', 'soul.md 2 waiting', 'user.md 1 made'],
  )
})

test('turns that end at the same time record a change once', async () => {
  stage = await openStage()
  const leaves = [1, 2, 3, 4].map(id => stage.fileGuard.guardTurn(ofGuest(id, `discord:${id}`)))
  stage.write('memory.md', 'x')
  await Promise.all(leaves.map(leave => leave()))
  expect(await states()).toEqual(['memory.md waiting'])
  expect(stage.text()).toBe('# Memory\n')
})

test('a change by the remember tool stays, even while a guest’s turn runs', async () => {
  stage = await openStage()
  const owner = ofOwner(1)
  const guest = ofGuest(2)
  const leaves = [owner, guest].map(turn => stage.fileGuard.guardTurn(turn))
  expect(await stage.fileGuard.remember('the dentist is\n# Dr. Bell', callerOf(owner))).toMatchObject({ ok: true })
  stage.write('memory.md', `${stage.text()}- written by one of them\n`)
  expect(await stage.fileGuard.remember('## eve may do all', callerOf(guest))).toMatchObject({
    ok: true,
    text: /waits/,
  })
  expect(await stage.fileGuard.remember('tea', callerOf(owner))).toMatchObject({ ok: true })
  for (const leave of leaves) await leave()
  expect(stage.text()).toBe('# Memory\n\n- the dentist is # Dr. Bell\n- tea\n')
  const log = await stage.fileGuard.list(9)
  expect(log.map(({ events, owner: isOwner, state }) => [events, isOwner, state])).toEqual([
    [[1, 2], false, 'waiting'],
    [[1], true, 'made'],
    [[2], false, 'waiting'],
    [[1], true, 'made'],
  ])
  for (const { id, state } of log)
    if (state === 'waiting') expect(await stage.fileGuard.approve(id)).toMatchObject({ ok: true })
  const lines = (stage.text() ?? '').split('\n').filter(line => line.startsWith('- '))
  expect(lines.sort()).toEqual(
    ['- eve may do all', '- tea', '- the dentist is # Dr. Bell', '- written by one of them'].sort(),
  )
})

test('forget removes what it reports, and nothing if the words are too common', async () => {
  const items = ['tea at five', 'coffee', 'Tea house', 'x', 'x', 'x', 'x', 'x', 'x'].map(item => `- ${item}\n`).join('')
  stage = await openStage({ 'memory.md': `# Memory about tea\n\n${items}` })
  const caller = callerOf(ofOwner())
  expect(await stage.fileGuard.forget('tea', caller)).toEqual({
    ok: true,
    text: 'Removed from memory.md:\n- tea at five\n- Tea house (change 1)',
  })
  const left = stage.text()
  expect(left).toContain('# Memory about tea\n\n- coffee\n')
  for (const words of ['x', 'nowhere', ' '])
    expect(await stage.fileGuard.forget(words, caller)).toMatchObject({ ok: false })
  expect(await stage.fileGuard.forget('coffee', callerOf(ofGuest()))).toMatchObject({ ok: true, text: /waits/ })
  expect(stage.text()).toBe(left)
  await stage.fileGuard.undo(1)
  expect(stage.text()).toContain('- tea at five\n- coffee\n- Tea house\n')
})

test('an editor that saves by rename in the middle of a guest’s turn loses nothing', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', 'guest\n')
  let saved = 0
  stage.meanwhile = () => {
    if (saved++ > 0) return
    stage.write('memory.md~', 'guest\nowner at the keyboard\n')
    renameSync(join(stage.dir, 'memory.md~'), join(stage.dir, 'memory.md'))
  }
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(
    (await stage.fileGuard.list(9)).map(({ state, diff }) => [state, diff.includes('+owner at the keyboard')]),
  ).toEqual([['waiting', true]])
})

test('a removed file, a new skill and a folder in place of a file are reverted after a guest’s turn', async () => {
  stage = await openStage({ 'soul.md': 'calm\n', 'user.md': 'Ada\n' })
  const leave = stage.fileGuard.guardTurn(ofGuest())
  await leave.ready
  rmSync(join(stage.dir, 'soul.md'))
  mkdirSync(join(stage.dir, 'skills/evil'), { recursive: true })
  stage.write('skills/evil/SKILL.md', '---\nname: evil\n---\n')
  rmSync(join(stage.dir, 'user.md'))
  mkdirSync(join(stage.dir, 'user.md'))
  stage.write('user.md/inside', 'kept')
  await leave()
  expect(stage.text('soul.md')).toBe('calm\n')
  expect(stage.text('user.md')).toBe('Ada\n')
  expect(existsSync(join(stage.dir, 'skills/evil'))).toBe(false)
  const aside = readdirSync(join(stage.dir, '.aetheel/aside')).find(name => name.endsWith('user.md'))
  expect(stage.text(`.aetheel/aside/${aside}/inside`)).toBe('kept')
  const skill = stage.waits.find(({ file }) => file === 'skills/evil/SKILL.md')
  expect(await stage.fileGuard.approve(skill?.id ?? 0)).toMatchObject({ ok: true })
  expect(stage.text('skills/evil/SKILL.md')).toBe('---\nname: evil\n---\n')
  expect(await stage.fileGuard.undo(skill?.id ?? 0)).toMatchObject({ ok: true })
  expect(stage.text('skills/evil/SKILL.md')).toBe(null)
  expect(await stage.fileGuard.approve(stage.waits.find(({ file }) => file === 'soul.md')?.id ?? 0)).toMatchObject({
    ok: true,
  })
  expect(stage.text('soul.md')).toBe(null)
})

test('a link that leads out is not followed: a guest’s link is removed, its target untouched', async () => {
  stage = await openStage({ 'elsewhere.txt': 'inside\n' })
  const outside = await openStage({ 'secret.txt': 'secret\n' })
  const leave = stage.fileGuard.guardTurn(ofGuest())
  await leave.ready
  rmSync(join(stage.dir, 'memory.md'))
  symlinkSync(join(outside.dir, 'secret.txt'), join(stage.dir, 'memory.md'))
  mkdirSync(join(stage.dir, 'skills'))
  symlinkSync(outside.dir, join(stage.dir, 'skills/out'))
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(outside.text('secret.txt')).toBe('secret\n')
  const inside = stage.fileGuard.guardTurn(ofGuest())
  await inside.ready
  rmSync(join(stage.dir, 'memory.md'))
  symlinkSync('elsewhere.txt', join(stage.dir, 'memory.md'))
  await inside()
  expect(stage.text()).toBe('# Memory\n')
  expect(stage.text('elsewhere.txt')).toBe('inside\n')
  expect((await stage.fileGuard.list(9)).map(({ diff }) => diff).join()).not.toContain('secret')
  await closeStage(outside)
})

test('a guest’s huge file is moved aside; one over 64 kB can be approved while nothing else changed', async () => {
  stage = await openStage()
  let leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', 'x'.repeat(5 * 1024 * 1024))
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  const [aside] = readdirSync(join(stage.dir, '.aetheel/aside'))
  expect(statSync(join(stage.dir, '.aetheel/aside', aside ?? '')).size).toBe(5 * 1024 * 1024)
  expect(await stage.fileGuard.approve(1)).toMatchObject({ ok: false, why: /too large/ })
  expect(await stage.fileGuard.deny(1)).toMatchObject({ ok: true })
  leave = stage.fileGuard.guardTurn(ofGuest())
  const large = 'line\n'.repeat(20_000)
  stage.write('memory.md', large)
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(await stage.fileGuard.approve(2)).toMatchObject({ ok: true })
  expect(stage.text()).toBe(large)
  expect(await stage.fileGuard.undo(2)).toMatchObject({ ok: false, why: /too large/ })
  expect(readdirSync(join(stage.dir, '.aetheel/aside'))).toEqual([])
  leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', `${large}one more\n`)
  await leave()
  expect(stage.text()).toBe(large)
})

test.skipIf(process.getuid?.() === 0)(
  'an unreadable file is reported; its suspects are remembered until it can be read',
  async () => {
    stage = await openStage()
    const path = join(stage.dir, 'memory.md')
    const leave = stage.fileGuard.guardTurn(ofGuest())
    stage.write('memory.md', 'smuggled')
    chmodSync(path, 0o000)
    await leave()
    expect(stage.problems).toEqual(['memory.md cannot be read (EACCES); check its permissions'])
    chmodSync(path, 0o600)
    expect(await states()).toEqual(['memory.md waiting'])
    expect(stage.text()).toBe('# Memory\n')
  },
)

test.skipIf(process.getuid?.() === 0)(
  'in a read-only folder a change is recorded and reported, and reverted as soon as possible',
  async () => {
    stage = await openStage()
    mkdirSync(join(stage.dir, 'skills/a'), { recursive: true })
    stage.write('skills/a/SKILL.md', 'one\n')
    const leave = stage.fileGuard.guardTurn(ofGuest())
    stage.write('skills/a/SKILL.md', 'two\n')
    chmodSync(join(stage.dir, 'skills/a'), 0o500)
    await leave()
    expect(stage.waits).toHaveLength(1)
    expect(stage.problems).toEqual([expect.stringContaining('could not be handled yet')])
    chmodSync(join(stage.dir, 'skills/a'), 0o700)
    stage = await stage.restart()
    expect(stage.text('skills/a/SKILL.md')).toBe('one\n')
    expect(await states()).toEqual(['skills/a/SKILL.md waiting', 'skills/a/SKILL.md made'])
  },
)

test('timestamps that were set back do not hide a change of the same length', async () => {
  stage = await openStage({ 'memory.md': 'aaaa' })
  const leave = stage.fileGuard.guardTurn(ofGuest())
  const { atime, mtime } = statSync(join(stage.dir, 'memory.md'))
  stage.write('memory.md', 'bbbb')
  utimesSync(join(stage.dir, 'memory.md'), atime, mtime)
  await leave()
  expect(stage.text()).toBe('aaaa')
})

test('edits while the gateway was off count as made by hand, unless turns were killed', async () => {
  stage = await openStage({ 'soul.md': 'a\n' })
  stage.write('soul.md', 'b\n')
  stage = await stage.restart()
  expect(await states()).toEqual(['soul.md made'])
  stage.write('soul.md', 'c\n')
  stage = await stage.restart([ofOwner(8)])
  expect(await stage.fileGuard.list(1)).toMatchObject([{ events: [8], owner: true, state: 'made' }])
  stage.write('soul.md', 'd\n')
  stage = await stage.restart([ofOwner(8), ofGuest(9)])
  expect(stage.text('soul.md')).toBe('c\n')
  expect(stage.waits).toMatchObject([{ events: [], person: null, owner: false, state: 'waiting' }])
  stage = await stage.restart()
  expect(stage.waits).toEqual([])
})

test('after a kill: a guest’s change waits in its name, what was changed long after is the owner’s', async () => {
  stage = await openStage({ 'soul.md': 'a\n', 'user.md': 'u\n' })
  stage.fileGuard.guardTurn(ofGuest(5))
  stage.write('soul.md', 'a\nsmuggled\n')
  // The next sign of life.
  stage.fileGuard.guardTurn(ofGuest(6))
  await longEnough()
  stage.write('memory.md', '# Memory\n\n- by the owner\n')
  stage = await stage.restart([ofGuest(5), ofGuest(6)])
  expect(stage.text('soul.md')).toBe('a\n')
  expect(stage.text()).toBe('# Memory\n\n- by the owner\n')
  expect(stage.waits).toMatchObject([{ file: 'soul.md', events: [5, 6], person: 'eve', state: 'waiting' }])
  expect((await stage.fileGuard.list(9)).find(({ file }) => file === 'memory.md')).toMatchObject({
    ...{ events: [], person: null, owner: true, state: 'made' },
  })
})

test('after a kill during the start after a kill, the next start finds the same', async () => {
  stage = await openStage({ 'soul.md': 'a\n' })
  stage.fileGuard.guardTurn(ofGuest(5))
  await longEnough()
  stage.write('soul.md', 'b\n')
  const { ctimeMs } = statSync(join(stage.dir, '.aetheel/guest-alive'))
  stage = await stage.restart([ofGuest(5)])
  expect(statSync(join(stage.dir, '.aetheel/guest-alive')).ctimeMs).toBe(ctimeMs)
  expect(stage.text('soul.md')).toBe('b\n')
})

const unclear: Record<string, (path: string) => Promise<void>> = {
  'changed about when it was killed': async path => {
    await new Promise(resolve => setTimeout(resolve, 30))
    writeFileSync(path, 'b\n')
  },
  removed: async path => {
    await longEnough()
    rmSync(path)
  },
  'copied there with its old time': async path => {
    await longEnough()
    writeFileSync(path, 'b\n')
    utimesSync(path, 1, 1)
  },
}
for (const [how, change] of Object.entries(unclear))
  test(`after a kill: what was ${how} waits, both versions are kept and nobody is named`, async () => {
    stage = await openStage({ 'soul.md': 'a\n' })
    stage.fileGuard.guardTurn(ofGuest(5))
    await change(join(stage.dir, 'soul.md'))
    const found = stage.text('soul.md')
    stage = await stage.restart([ofGuest(5)])
    expect(stage.text('soul.md')).toBe('a\n')
    expect(stage.waits).toMatchObject([{ id: 1, events: [], lane: null, person: null, owner: false, state: 'waiting' }])
    expect(stage.fileGuard.noteFor('discord:7')).toBe(null)
    expect(await stage.fileGuard.approve(1)).toMatchObject({ ok: true })
    expect(stage.text('soul.md')).toBe(found)
  })

test('after a kill that a guest’s process survived, nothing counts as changed by hand', async () => {
  stage = await openStage({ 'soul.md': 'a\n' })
  stage.fileGuard.guardTurn(ofGuest(5))
  await longEnough()
  stage.write('soul.md', 'b\n')
  stage = await stage.restart([ofGuest(5)], true)
  expect(stage.text('soul.md')).toBe('a\n')
  expect(stage.waits).toMatchObject([{ file: 'soul.md', events: [], person: null, state: 'waiting' }])
})

test('killed between recording and reverting: one record, and the file is restored', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofGuest(2))
  stage.write('memory.md', 'smuggled')
  await leave()
  stage.write('memory.md', 'smuggled')
  stage = await stage.restart([ofGuest(2)])
  expect(stage.text()).toBe('# Memory\n')
  expect(await states()).toEqual(['memory.md waiting'])
  stage.write('memory.md', 'smuggled')
  stage = await stage.restart()
  expect(stage.text()).toBe('# Memory\n')
})

test('the first start takes the files as they are', async () => {
  stage = await openStage({ 'soul.md': 'x' })
  expect(await stage.fileGuard.list(9)).toEqual([])
})

test('a memory.md that the gateway itself recreated in a guest’s turn stays', async () => {
  stage = await openStage()
  rmSync(join(stage.dir, 'memory.md'))
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', '# Memory\n')
  await leave()
  expect(stage.text()).toBe('# Memory\n')
  expect(stage.waits).toEqual([])
})

test('a config.json by the agent that does not load is reverted, stored and explained to it', async () => {
  stage = await openStage({ 'config.json': '{"a":1}' })
  let leave = stage.fileGuard.guardTurn(ofOwner(1))
  stage.write('config.json', '{"a":')
  await leave()
  expect(stage.text('config.json')).toBe('{"a":1}')
  expect(stage.text('config.json.refused')).toBe('{"a":')
  expect(stage.fileGuard.noteFor('webchat:home')).toBe(
    '[Gateway: your change to config.json was refused: it is not JSON. The text is in config.json.refused.]',
  )
  expect(stage.reloads()).toBe(0)
  leave = stage.fileGuard.guardTurn(ofOwner(2))
  stage.write('config.json', '{"a":2,"secret":"hunter22"}')
  await leave()
  expect(stage.reloads()).toBe(1)
  expect(await states()).toEqual(['config.json made', 'config.json denied'])
  expect(JSON.stringify(await stage.fileGuard.list(9))).not.toContain('hunter22')
  expect(await stage.fileGuard.undo(null)).toMatchObject({ ok: true })
  expect(stage.text('config.json')).toBe('{"a":1}')
  expect(stage.reloads()).toBe(2)
})

test('an invalid config.json by hand is left alone and reported; a guest’s waits and is not approved while invalid', async () => {
  stage = await openStage({ 'config.json': '{}' })
  stage.write('config.json', '{"half')
  await stage.fileGuard.catchUp()
  expect(stage.text('config.json')).toBe('{"half')
  expect(stage.problems).toEqual([
    'config.json does not load, the last good configuration stays in use: it is not JSON.',
  ])
  stage.write('config.json', '{}')
  await stage.fileGuard.catchUp()
  expect(stage.reloads()).toBe(1)
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('config.json', '{"owner.users": "eve"')
  await leave()
  expect(stage.text('config.json')).toBe('{}')
  expect(await stage.fileGuard.approve(stage.waits[0]?.id ?? 0)).toMatchObject({ ok: false, why: /would not load/ })
  expect(stage.text('config.json')).toBe('{}')
})

test('a conflict with later changes is refused with an explanation, and nothing changes', async () => {
  stage = await openStage({ 'memory.md': 'a\nb\nc\n' })
  for (const text of ['a\nB\nc\n', 'a\nBB\nc\n']) {
    stage.write('memory.md', text)
    await stage.fileGuard.catchUp()
  }
  expect(await stage.fileGuard.undo(1)).toMatchObject({ ok: false, why: /changed since/ })
  expect(stage.text()).toBe('a\nBB\nc\n')
  expect(await states()).toEqual(['memory.md made', 'memory.md made'])
  expect(await stage.fileGuard.undo(null)).toMatchObject({ ok: true, change: { id: 2 } })
  expect(await stage.fileGuard.undo(null)).toMatchObject({ ok: true, change: { id: 1 } })
  expect(await stage.fileGuard.undo(null)).toMatchObject({ ok: false })
  expect(await stage.fileGuard.undo(77)).toMatchObject({ ok: false, why: 'There is no change 77.' })
  expect(stage.text()).toBe('a\nb\nc\n')
})

test('undoing while a turn writes keeps its changes, and they are still attributed to it', async () => {
  stage = await openStage({ 'memory.md': 'a\nb\nc\nd\n' })
  stage.write('memory.md', 'a\nb\nc\nd\nby hand\n')
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', 'guest\na\nb\nc\nd\nby hand\n')
  expect(await stage.fileGuard.undo(1)).toMatchObject({ ok: true })
  expect(stage.text()).toBe('guest\na\nb\nc\nd\n')
  await leave()
  expect(stage.text()).toBe('a\nb\nc\nd\n')
  expect(stage.waits).toMatchObject([{ diff: '@@ -1,3 +1,4 @@\n+guest\n a\n b\n c' }])
})

test('a restored file keeps its permissions', async () => {
  stage = await openStage()
  chmodSync(join(stage.dir, 'memory.md'), 0o644)
  const leave = stage.fileGuard.guardTurn(ofGuest())
  stage.write('memory.md', 'x')
  await leave()
  expect(statSync(join(stage.dir, 'memory.md')).mode & 0o777).toBe(0o644)
})

test('nothing is reverted until it can be recorded', async () => {
  stage = await openStage()
  stage.db.prepare('ALTER TABLE changes RENAME TO elsewhere').run()
  const leave = stage.fileGuard.guardTurn(ofGuest(2))
  stage.write('memory.md', 'guest\n')
  await leave()
  expect(stage.text()).toBe('guest\n')
  expect(stage.problems).toEqual([expect.stringContaining('could not be handled yet')])
  stage.db.prepare('ALTER TABLE elsewhere RENAME TO changes').run()
  await stage.fileGuard.guardTurn(ofOwner(3))()
  expect(stage.text()).toBe('# Memory\n')
  expect(stage.waits).toMatchObject([{ person: 'eve', owner: false }])
})

test('until a guest’s changes are handled, the earlier content of a file is in effect', async () => {
  stage = await openStage({ 'agents.md': 'rules\n' })
  const { approved } = stage.fileGuard
  const leaveOwner = stage.fileGuard.guardTurn(ofOwner(1))
  expect(approved('agents.md')).toBe(undefined)
  const leave = stage.fileGuard.guardTurn(ofGuest(2))
  stage.write('agents.md', 'evil\n')
  expect([approved('agents.md'), approved('config.json')]).toEqual(['rules\n', null])
  const left = leave()
  expect(approved('agents.md')).toBe('rules\n')
  await left
  expect(stage.text('agents.md')).toBe('rules\n')
  expect(approved('agents.md')).toBe(undefined)
  await leaveOwner()
})

test('a guest’s change to config.json before a kill is not used after the next start', async () => {
  stage = await openStage({ 'config.json': '{}' })
  stage.write('config.json', '{ "owners": ["eve"] }')
  stage = await stage.restart([ofGuest(2)])
  expect(stage.text('config.json')).toBe('{}')
  expect(stage.reloads()).toBe(1)
})

test('a turn that starts is not blamed for what another running turn has written before', async () => {
  stage = await openStage({ 'config.json': '{}' })
  const leaveGuest = stage.fileGuard.guardTurn(ofGuest(1))
  await leaveGuest.ready
  stage.write('config.json', '{ "agent": { "model": "opus" } }')
  const leaveOwner = stage.fileGuard.guardTurn(ofOwner(2))
  await leaveOwner.ready
  expect(await stage.fileGuard.list(9)).toMatchObject([{ file: 'config.json', events: [1], person: 'eve' }])
  await leaveOwner()
  await leaveGuest()
})

test('what widens power and is written in a running turn is reverted before another turn can load it', async () => {
  stage = await openStage()
  const { fileGuard, write, text, waits } = stage
  const first = fileGuard.guardTurn(ofOwner())
  expect(await first.ready).toBeNull()
  write('.mcp.json', '{ "mcpServers": { "x": { "command": "evil" } } }')
  write('opencode.json', '{ "mcp": { "x": { "type": "local", "command": ["evil"] } } }')
  write('memory.md', '# Memory\n- tea\n')
  // A sub-agent, or another conversation.
  const second = fileGuard.guardTurn(ofOwner(2, 'agent:x'))
  expect(await second.ready).toBeNull()
  expect([text('.mcp.json'), text('opencode.json')]).toEqual([null, null])
  expect(text()).toContain('tea')
  expect(waits.map(({ file }) => file).sort()).toEqual(['.mcp.json', 'opencode.json'])
  await second()
  await first()
})

test('a change that is too large for the log is approved as it was made, or not at all', async () => {
  stage = await openStage()
  const leave = stage.fileGuard.guardTurn(ofGuest())
  expect(await leave.ready).toBeNull()
  stage.write('memory.md', 'line\n'.repeat(20_000))
  stage.write('notes.txt', 'line\n'.repeat(20_000))
  await leave()
  const kept = join(stage.dir, '.aetheel/aside')
  const all = readdirSync(kept, { recursive: true, withFileTypes: true }).filter(one => one.isFile())
  expect(all).toHaveLength(2)
  for (const { parentPath, name } of all) writeFileSync(join(parentPath, name), 'line\n'.repeat(20_001))
  for (const { id } of stage.waits) expect(await stage.fileGuard.approve(id)).toMatchObject({ ok: false })
  expect([stage.text(), stage.text('notes.txt')]).toEqual(['# Memory\n', null])
})
