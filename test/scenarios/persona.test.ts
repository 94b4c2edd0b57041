// The owner edits the agent's files over the API while the agent edits the same files.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OwnFile, SkillsAdmin } from '../../src/base/files.ts'
import type { MemoryChange } from '../../src/base/memory.ts'
import { eventually, type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type RunningGateway, runCommand, token } from '../harness/gateway.ts'

const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }

interface Answer {
  readonly version: string | null
  readonly change?: MemoryChange
  readonly text?: string
  readonly error?: string
}

const on = (home: TemporaryHome, file: string) => readFileSync(join(home.configDir, file), 'utf8')

function admin({ url }: RunningGateway) {
  const read = async <Read>(path: string) => (await (await fetch(`${url}${path}`, { headers })).json()) as Read
  return {
    read,
    file: (name: string) =>
      read<{ text: string; version: string | null; error?: string }>(`/api/file?name=${encodeURIComponent(name)}`),
    log: async () => (await read<{ changes: MemoryChange[] }>('/api/memory/log')).changes,
    async save(name: string, text: string | null, version: string | null) {
      const body = JSON.stringify({ name, text, version })
      const answer = await fetch(`${url}/api/file`, { method: 'POST', headers, body })
      const told = (await answer.json()) as Answer
      return { status: answer.status, ...told }
    },
  }
}

test('a save by the owner takes effect with the next turn, is logged, also for the command line, and can be undone', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const { file, save, log, read } = admin(gateway)
  const { text, version } = await file('soul.md')
  expect(text).toContain('# Soul')
  const saved = await save('soul.md', `${text}Speak in rhymes.\n`, version)
  expect(saved).toMatchObject({ status: 200, change: { file: 'soul.md', events: [], owner: true, state: 'made' } })
  expect(await log()).toMatchObject([{ id: saved.change?.id, diff: expect.stringContaining('+Speak in rhymes.') }])
  const client = await connect(gateway.url, 'home')
  client.say('1', 'who are you?')
  await client.final('1')
  expect(home.begun().at(-1)?.system).toContain('Speak in rhymes.')
  await client.close()
  const { files } = await read<{ files: OwnFile[] }>('/api/files')
  expect(files.find(({ name }) => name === 'soul.md')).toMatchObject({ exists: true, state: 'good', room: 65_536 })
  expect(files.map(({ name }) => name)).toContain('skills/schedules/SKILL.md')
  expect(files.map(({ name }) => name)).not.toContain('config.json')

  const shown = runCommand(home, ['memory', 'log'])
  expect(await shown.exit).toBe(0)
  expect(shown.stdout()).toMatch(/soul\.md +hand /)
  expect(await runCommand(home, ['memory', 'undo', String(saved.change?.id)]).exit).toBe(0)
  expect(on(home, 'soul.md')).toBe(text)
  expect(await save('soul.md', 'late\n', saved.version)).toMatchObject({ status: 409, text, version })
})

test('a turn that edits the same file loses nothing, and neither does the owner', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const { file, save, log } = admin(gateway)
  const client = await connect(gateway.url, 'home')
  const before = await file('memory.md')
  // It writes first, then continues for a while.
  client.say('1', `[[append:memory.md|- from the turn]] [[long:400]]`)
  await eventually('written', () => on(home, 'memory.md').includes('from the turn'))
  expect(await save('memory.md', '# Memory\n- mine\n', before.version)).toMatchObject({
    ...{ status: 409, text: '# Memory\n- from the turn\n', error: expect.stringContaining('changed in the meantime') },
  })
  const { text, version } = await file('memory.md')
  expect(await save('memory.md', `${text}- mine\n`, version)).toMatchObject({ status: 200 })
  await client.final('1')
  await client.close()
  expect(on(home, 'memory.md')).toBe('# Memory\n- from the turn\n- mine\n')
  const changes = (await log()).map(({ events, owner, diff }) => [events.length, owner, diff.split('\n').at(-1)])
  expect(changes).toEqual([
    [0, true, '+- mine'],
    [1, true, '+- from the turn'],
  ])
})

test('a stranger’s change is neither shown in the file nor saved with it', async () => {
  await using home = await temporaryHome()
  mkdirSync(home.configDir, { recursive: true })
  const hook = 'Secret: DOOR\nInstruction: [[append:memory.md|- spam]] [[long:400]] {{payload}}'
  writeFileSync(join(home.configDir, 'agents.md'), `## Webhooks\n### door\n${hook}\n`)
  const gateway = await home.start({ DOOR: 'a-secret-for-tests', WALL: 'none', STAND_IN_STEP_MS: '10' })
  const { file, save, log } = admin(gateway)
  const before = await file('memory.md')
  const called = { method: 'POST', headers: { authorization: 'Bearer a-secret-for-tests' }, body: 'x' }
  expect((await fetch(`${gateway.url}/hooks/door`, called)).status).toBe(202)
  await eventually('written', () => on(home, 'memory.md').includes('spam'))
  expect(await file('memory.md')).toEqual(before)
  expect(await save('memory.md', `${before.text}- mine\n`, before.version)).toMatchObject({ status: 200 })
  expect(on(home, 'memory.md')).toBe(`${before.text}- mine\n`)
  const found = (await log()).map(({ owner, state, diff }) => [owner, state, diff.includes('spam')])
  expect(found).toEqual([
    [true, 'made', false],
    [false, 'waiting', true],
  ])
})

test('skills are created, listed with their problems, and removed; nothing leaves the workspace', async () => {
  await using home = await temporaryHome()
  const gateway = await home.start()
  const { file, save, read } = admin(gateway)
  const skills = () => read<Awaited<ReturnType<SkillsAdmin['list']>>>('/api/skills')
  expect((await skills()).skills.map(({ from }) => from)).toEqual(['shipped', 'shipped'])
  const tea = 'skills/tea/SKILL.md'
  const made = await save(tea, '---\nname: tea\ndescription: Makes tea.\n---\n', null)
  expect(made.status).toBe(200)
  expect((await skills()).skills).toContainEqual(
    expect.objectContaining({ name: 'tea', from: 'yours', description: 'Makes tea.' }),
  )
  const spoilt = await save(tea, 'no front matter\n', made.version)
  expect((await skills()).troubles).toMatchObject([{ file: tea, why: expect.stringContaining('front matter') }])
  expect(await save(tea, null, spoilt.version)).toMatchObject({ status: 200, version: null })
  expect(existsSync(join(home.configDir, 'skills/tea'))).toBe(false)

  const outside = join(home.dir, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'SKILL.md'), 'secret')
  symlinkSync(outside, join(home.configDir, 'skills/away'))
  symlinkSync(join(outside, 'SKILL.md'), join(home.configDir, 'persona.md'))
  for (const name of ['skills/away/SKILL.md', 'persona.md']) {
    expect(await file(name)).toEqual({ error: expect.stringContaining('leads out') })
    expect(await save(name, 'mine', null)).toMatchObject({ status: 400, error: expect.stringContaining('leads out') })
  }
  for (const name of ['../outside/SKILL.md', 'skills/../../outside/SKILL.md', '.aetheel/token', 'config.json'])
    expect(await save(name, 'mine', null)).toMatchObject({ status: 404 })
  expect(readFileSync(join(outside, 'SKILL.md'), 'utf8')).toBe('secret')
})
