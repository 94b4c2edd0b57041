// The systemd user unit of a workspace: where it lies, what stands in it, and systemctl.
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { dialects, findProgram } from '../run/index.ts'
import { unified, writeWhole } from '../store/index.ts'
import type { UnitDesk } from '../ui/index.ts'
import { type Loaded, type LoadFrom, showProblems } from './config.ts'
import { eachOption } from './config-options.ts'
import { productRoot } from './root.ts'
import { madeByUs, unitText } from './service-unit.ts'

interface UnitFrom extends LoadFrom {
  readonly platform: NodeJS.Platform
  readonly loaded: Loaded
  readonly ground: { readonly configDir: string }
}

const name = 'aetheel.service'
const patienceMs = 30_000
/** Where the configuration cannot be read: nothing is installed then. */
const usualStopMs = 30_000

/** Rejects where there are no user units. */
export async function openUnit({ env, cwd, platform, loaded, ground }: UnitFrom): Promise<UnitDesk> {
  if (platform !== 'linux')
    throw new Error(`there is no systemd on ${platform}, so there is no service to install. ${instead}`)
  const folder = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'systemd/user')
  const file = join(folder, name)
  const text = unitText({
    node: process.execPath,
    program: join(productRoot(), 'bin/aetheel.mjs'),
    configDir: ground.configDir,
    workingDir: cwd,
    path: foldersOf(env.PATH ?? ''),
    stopTimeoutMs: loaded.ok ? loaded.config.stopTimeoutMs : usualStopMs,
  })
  const existing = await readFile(file, 'utf8').catch(() => null)
  return {
    ...{ name, file, text, there: kindOf(existing, text), diff: existing === null ? '' : unified(existing, text) },
    problems: loaded.ok ? [] : loaded.problems.map(problem => showProblems([problem])),
    onlyHere: onlyInThisShell(env, loaded),
    lingers: existsSync(join('/var/lib/systemd/linger', userInfo().username)),
    async write() {
      await mkdir(folder, { recursive: true })
      await writeWhole(file, text)
    },
    async delete() {
      // Besides the unit the link by which it was enabled, where systemctl could not be asked to.
      for (const path of [file, join(folder, 'default.target.wants', name)]) await rm(path, { force: true })
    },
    systemctl: (...args) => systemctl(env, args),
  }
}

const instead = 'Start the gateway by hand with "npx aetheel start", or let launchd, pm2 or the like do so.'

function kindOf(existing: string | null, text: string): UnitDesk['there'] {
  if (existing === null) return 'no'
  if (existing === text) return 'same'
  return existing.startsWith(madeByUs) ? 'other' : 'foreign'
}

/** Those that are there, each once: npx puts many in front that are not. */
function foldersOf(path: string): string {
  const folders = path
    .split(delimiter)
    .filter(one => isAbsolute(one) && statSync(one, { throwIfNoEntry: false })?.isDirectory())
  return [...new Set(folders)].join(delimiter)
}

/** Options and credentials of backends that come from this shell; `.env` and config.json are read by the service as well. */
function onlyInThisShell(env: LoadFrom['env'], loaded: Loaded): readonly string[] {
  const ours = eachOption().filter(([key]) => key !== 'config_dir')
  const fromHere = loaded.ok
    ? loaded.values.filter(({ key, from }) => key !== 'config_dir' && from === 'environment').map(one => one.env)
    : ours.map(([, option]) => option.env).filter(name => env[name])
  const logins = dialects.flatMap(({ credentials }) => credentials.variables).filter(name => env[name])
  return [...new Set([...fromHere, ...logins])]
}

function systemctl(env: LoadFrom['env'], args: readonly string[]): ReturnType<UnitDesk['systemctl']> {
  const program = findProgram('systemctl', env.PATH)
  if (program === null) return Promise.resolve(null)
  return new Promise(resolve => {
    const bounds = {
      env: { ...env, LC_ALL: 'C.UTF-8' },
      timeout: patienceMs,
      killSignal: 'SIGKILL',
      maxBuffer: 1024 * 1024,
    } as const
    execFile(program, ['--user', ...args], bounds, (error, stdout, stderr) => {
      const late = error?.killed === true ? `it did not end within ${patienceMs / 1000} seconds` : ''
      resolve({ ok: error === null, said: late || stderr.trim() || stdout.trim() || (error?.message ?? '') })
    })
  })
}
