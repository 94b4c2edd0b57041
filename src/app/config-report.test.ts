// What people read about the configuration: the first config.json, and no secret.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { eachOption } from './config-options.ts'
import { initialConfigFile, secretHider } from './config-report.ts'

test('the first config.json says what holds without it, and nothing in it is warned about', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aetheel-init-'))
  try {
    const from = { flags: { configDir: folder }, env: {}, cwd: folder }
    const without = await loadConfig(from)
    await writeFile(join(folder, 'config.json'), initialConfigFile())
    const withIt = await loadConfig(from)
    expect(withIt).toMatchObject({ ok: true, warnings: [] })
    expect(withIt.ok && withIt.config).toEqual(without.ok && without.config)
    expect(withIt.ok && withIt.values.find(({ key }) => key === 'http.port')).toMatchObject({ from: 'config.json' })
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('the first config.json explains every option that may stand in it', () => {
  const file = initialConfigFile()
  for (const [key, { env, description, outsideFile }] of eachOption()) {
    if (outsideFile) continue
    expect(file).toContain(`"${key.slice(key.indexOf('.') + 1)}": `)
    expect(file).toContain(`// ${description}\n`)
    expect(file).toContain(`// ${env}`)
  }
})

test('a secret that begins with another one is hidden as a whole', () => {
  expect(secretHider(['secret', 'secret-tail'])('a secret-tail, a secret')).toBe('a ********, a ********')
})
