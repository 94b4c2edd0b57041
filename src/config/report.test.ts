// The configuration as shown to people: the first config.json, and no secrets.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from './load.ts'
import { eachOption } from './options/index.ts'
import { initialConfigFile } from './report.ts'

test('the first config.json contains the defaults and causes no warnings', async () => {
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

test('the first config.json explains every option that can be set in it', () => {
  const file = initialConfigFile()
  for (const [key, { env, description, outsideFile }] of eachOption()) {
    if (outsideFile) continue
    expect(file).toContain(`"${key.slice(key.indexOf('.') + 1)}": `)
    expect(file).toContain(`// ${description}\n`)
    expect(file).toContain(`// ${env}`)
  }
})
