// For tests: a fresh working directory with a config folder, and ways to load the configuration from it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Loaded, type LoadFrom, loadConfig, showProblems } from './config.ts'

type Env = LoadFrom['env']
type Flags = LoadFrom['flags']

export interface ConfigFixture {
  path(...parts: string[]): string
  writeConfig(content: unknown): Promise<void>
  writeBotConfig(content: unknown): Promise<void>
  load(env?: Env, flags?: Flags, instead?: LoadFrom['instead']): Promise<Loaded>
  /** Loads what must be free of mistakes. */
  good(env?: Env, flags?: Flags): Promise<Loaded & { ok: true }>
  /** The mistakes, as people read them. */
  complaints(env?: Env, flags?: Flags): Promise<string[]>
}

interface Hooks {
  beforeEach(before: () => Promise<void>): void
  afterEach(after: () => Promise<void>): void
}

/** The test runner's hooks are handed in, as only tests may import it. */
export function configFixture({ beforeEach, afterEach }: Hooks): ConfigFixture {
  let cwd = ''
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'aetheel-config-'))
    await mkdir(join(cwd, 'config'))
  })
  afterEach(() => rm(cwd, { recursive: true }))

  const write = (file: string, content: unknown) =>
    writeFile(join(cwd, 'config', file), typeof content === 'string' ? content : JSON.stringify(content))
  const load = (env: Env = {}, flags: Flags = {}, instead?: LoadFrom['instead']): Promise<Loaded> =>
    loadConfig({ flags, env, cwd, instead })
  return {
    path: (...parts) => join(cwd, ...parts),
    writeConfig: content => write('config.json', content),
    writeBotConfig: content => write('bot-config.json', content),
    load,
    async good(env, flags) {
      const loaded = await load(env, flags)
      if (!loaded.ok) throw new Error(showProblems(loaded.problems))
      return loaded
    },
    async complaints(env, flags) {
      const loaded = await load(env, flags)
      return loaded.ok ? [] : showProblems(loaded.problems).split('\n')
    },
  }
}
