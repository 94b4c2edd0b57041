// Which files may be sent from the workspace, and which may not.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { worseThanLinear } from '../../test/harness/growth.ts'
import { createAttached } from './attached.ts'

/** Copies of settings files that init, a refused edit and editors leave behind. */
const copies = ['config.json.old', 'config.json.old-2', 'bot-config.json.refused', 'config.json~', 'config.json.1.tmp']

const dirs: string[] = []
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true })
})

function setup() {
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-attached-'))
  dirs.push(dir)
  const workspace = join(dir, 'config')
  for (const folder of ['files', '.aetheel']) mkdirSync(join(workspace, folder), { recursive: true })
  const files = ['files/a b.txt', 'files/pic.png', '.aetheel/token', '.env', 'files/.hidden', 'config.json']
  for (const file of files) writeFileSync(join(workspace, file), file)
  for (const file of copies) writeFileSync(join(workspace, file), file)
  writeFileSync(join(workspace, 'files/empty'), '')
  writeFileSync(join(dir, 'outside.txt'), 'secret')
  return { dir, workspace, attached: createAttached(workspace) }
}

test('finds links and images that lead to workspace files', async () => {
  const { attached } = setup()
  const text = 'See [a](files/a%20b.txt), ![p](./files/pic.png), [again](<files/a b.txt>) and [none](files/none.txt).'
  expect(attached.linkedIn(text)).toEqual(['files/a b.txt', 'files/pic.png'])
  expect(String(await attached.read('files/pic.png'))).toBe('files/pic.png')
})

test('no private file and no file outside the workspace is sent, however it is linked', async () => {
  const { dir, workspace, attached } = setup()
  symlinkSync(join(dir, 'outside.txt'), join(workspace, 'files/way-out'))
  symlinkSync(join(workspace, '.aetheel/token'), join(workspace, 'files/way-in'))
  symlinkSync(dir, join(workspace, 'files/folder'))
  const targets = [
    ...copies,
    ...[
      '.env',
      'config.json',
      './config.json',
      '.aetheel/token',
      'files/.hidden',
      'files/empty',
      'files',
      'files/way-out',
      'files/way-in',
    ],
    ...['../outside.txt', 'files/../../outside.txt', 'files/folder/outside.txt', '/etc/passwd', '%2e%2e/outside.txt'],
    ...[join(dir, 'outside.txt'), 'file:///etc/passwd', 'https://example.org/a', '~/x', 'C:\\x', '\\\\host\\x'],
  ]
  for (const target of targets) {
    expect(attached.linkedIn(`[x](${target})`), target).toEqual([])
    expect(await attached.read(target), target).toBe(null)
  }
})

test('at most ten files, none over the size limit', () => {
  const { workspace, attached } = setup()
  const names = Array.from({ length: 12 }, (_, i) => `files/${i}.txt`)
  for (const name of names) writeFileSync(join(workspace, name), 'x')
  writeFileSync(join(workspace, 'files/large'), Buffer.alloc(10 * 1024 * 1024 + 1))
  expect(attached.linkedIn(`[l](files/large) ${names.map(name => `[x](${name})`).join(' ')}`)).toEqual(
    names.slice(0, 10),
  )
})

test.each(['[x](', ' ', '>', '[', '[x](<'])('any text is searched in linear time: %j', async part => {
  const { attached } = setup()
  const look = (size: number) => {
    for (const start of ['', '[x](', '[x](<']) attached.linkedIn(`${start}${part.repeat(size / part.length)}x`)
  }
  expect(await worseThanLinear(look, 200_000)).toBeNull()
})
