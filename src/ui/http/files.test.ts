// The agent's files and skills over HTTP: valid requests reach the admin API, and invalid ones are refused before.
import { afterEach, expect, test } from 'vitest'
import { fakeFiles, fakeSkills } from '../../../test/fakes/persona-files.ts'
import { bearer, closeAll, open, post } from './server.rig.ts'

afterEach(closeAll)

async function createFiles() {
  const fake = fakeFiles({ 'memory.md': 'tea\n' })
  const { url } = await open({ admin: { files: fake.files, skills: fakeSkills }, limits: { bodyBytes: 1000 } })
  const save = async (body: unknown) => {
    const answer = await post(`${url}/api/file`, body)
    return [answer.status, await answer.json()]
  }
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: bearer })
    return [answer.status, await answer.json()]
  }
  return { ...fake, url, save, read }
}

test('files are listed, read, saved and removed; a stale save gets the current text', async () => {
  const { save, read, texts } = await createFiles()
  expect(await read('/api/files')).toMatchObject([200, { files: [{ name: 'memory.md', bytes: 4 }] }])
  expect(await read('/api/file?name=memory.md')).toEqual([
    200,
    { name: 'memory.md', text: 'tea\n', version: 'v-tea\n' },
  ])
  const order = { name: 'memory.md', text: 'milk\n', version: 'v-tea\n' }
  expect(await save(order)).toMatchObject([200, { version: 'v-milk\n', change: { file: 'memory.md', diff: /tea/ } }])
  expect(await save(order)).toEqual([
    409,
    { error: 'memory.md was changed in the meantime; nothing was written.', text: 'milk\n', version: 'v-milk\n' },
  ])
  expect(await save({ ...order, version: 'v-milk\n', text: null })).toMatchObject([200, { version: null }])
  expect([...texts]).toEqual([])
  expect(await save({ ...order, version: 'v-milk\n' })).toMatchObject([409, { text: '', version: null }])
  expect(await read('/api/skills')).toEqual([200, await fakeSkills.list()])
})

test('a text of one megabyte is accepted, and one byte more is not', async () => {
  const { save, texts } = await createFiles()
  const most = '\n'.repeat(1024 * 1024)
  expect(await save({ name: 'memory.md', text: most, version: 'v-tea\n' })).toMatchObject([200, {}])
  expect(texts.get('memory.md')).toBe(most)
  const more = { name: 'memory.md', text: `${most}x`, version: null }
  expect(await save(more)).toEqual([413, { error: 'The text is longer than 1 MB.' }])
  expect(await save({ ...more, text: 'é'.repeat(600_000) })).toMatchObject([413, {}])
  expect(await save({ ...more, text: 'x'.repeat(3_000_000) })).toMatchObject([413, { error: /longer than/ }])
  expect(texts.get('memory.md')).toBe(most)
})

test('invalid requests and other file names are refused with a reason', async () => {
  const { save, read, texts, asked } = await createFiles()
  const bad: readonly (readonly [unknown, string])[] = [
    ['nonsense', 'not JSON'],
    [{}, '"name" is missing'],
    [{ name: 'memory.md', version: null }, '"text" is missing'],
    [{ name: 'memory.md', text: 'x' }, '"version" is missing'],
    [{ name: 'memory.md', text: 7, version: null }, '"text" must be a string, or null'],
    [{ name: 'memory.md', text: 'x', version: 7 }, '"version" must be a string or null'],
    [{ name: 'x'.repeat(201), text: 'x', version: null }, '"name" must have at most 200'],
    [{ name: ['memory.md'], text: 'x', version: null }, '"name" must be a string'],
  ]
  for (const [body, words] of bad) expect(await save(body)).toEqual([400, { error: expect.stringContaining(words) }])
  expect(asked).toEqual([])
  for (const name of ['../memory.md', '/etc/passwd', 'config.json', 'skills/../../x/SKILL.md']) {
    expect(await save({ name, text: 'x', version: null })).toEqual([404, { error: expect.stringContaining('no such') }])
    expect(await read(`/api/file?name=${encodeURIComponent(name)}`)).toMatchObject([404, {}])
  }
  expect(await read('/api/file')).toMatchObject([404, {}])
  expect(await read('/api/file?name=soul.md')).toEqual([400, { error: 'soul.md is no text file.' }])
  expect(await save({ name: 'soul.md', text: 'x', version: null })).toEqual([
    400,
    { error: 'soul.md is no text file.' },
  ])
  expect(texts.get('memory.md')).toBe('tea\n')
})

test('nobody gets in without the token, from another site, or by another method; without an admin API there is no path', async () => {
  const { url, texts } = await createFiles()
  const order = JSON.stringify({ name: 'memory.md', text: 'x', version: 'v-tea\n' })
  for (const path of ['/api/files', '/api/file?name=memory.md', '/api/skills'])
    for (const headers of [{}, { Authorization: 'Bearer wrong' }])
      expect((await fetch(`${url}${path}`, { headers })).status).toBe(401)
  expect((await fetch(`${url}/api/file`, { method: 'POST', body: order })).status).toBe(401)
  const foreign = { ...bearer, Origin: 'https://example.org' }
  expect((await fetch(`${url}/api/file`, { method: 'POST', headers: foreign, body: order })).status).toBe(403)
  for (const method of ['PUT', 'DELETE'])
    expect((await fetch(`${url}/api/file`, { method, headers: bearer })).status).toBe(405)
  expect(texts.get('memory.md')).toBe('tea\n')
})
