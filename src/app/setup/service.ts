// The systemd user unit of a workspace: its path, its text, and systemctl.
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { eachOption, type Loaded, type LoadFrom, showProblems } from '../../config/index.ts'
import { dialects, findProgram } from '../../run/index.ts'
import { unified, writeWhole } from '../../store/index.ts'
import type { ServiceControl } from '../../ui/index.ts'
import { productRoot } from '../product-root.ts'
import { madeByUs, unitText } from './service-unit.ts'

interface UnitFrom extends LoadFrom {
  readonly platform: NodeJS.Platform
  readonly loaded: Loaded
  readonly workspace: { readonly configDir: string }
}

const name = 'aetheel.service'
const patienceMs = 30_000
/** Used if the configuration cannot be read; then nothing is installed. */
const usualStopMs = 30_000

/** Rejects on platforms without systemd user units. */
export async function createUnit({ env, cwd, platform, loaded, workspace }: UnitFrom): Promise<ServiceControl> {
  if (platform !== 'linux')
    throw new Error(`there is no systemd on ${platform}, so there is no service to install. ${instead}`)
  const folder = join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'systemd/user')
  const file = join(folder, name)
  const text = unitText({
    node: process.execPath,
    program: join(productRoot(), 'bin/aetheel.mjs'),
    configDir: workspace.configDir,
    workingDir: cwd,
    path: foldersOf(env.PATH ?? ''),
    stopTimeoutMs: loaded.ok ? loaded.config.stopTimeoutMs : usualStopMs,
    namespaces: await hasNamespaces(),
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
      // Also the link that enables the unit, in case systemctl could not be asked to remove it.
      for (const path of [file, join(folder, 'default.target.wants', name)]) await rm(path, { force: true })
    },
    systemctl: (...args) => systemctl(env, args),
  }
}

/** Debian and Ubuntu have switches of their own for this. */
async function hasNamespaces(): Promise<boolean> {
  const setting = async (name: string) => (await readFile(`/proc/sys/${name}`, 'utf8').catch(() => '')).trim()
  const [most, debian, ubuntu] = await Promise.all(
    [
      'user/max_user_namespaces',
      'kernel/unprivileged_userns_clone',
      'kernel/apparmor_restrict_unprivileged_userns',
    ].map(setting),
  )
  return most !== '' && most !== '0' && debian !== '0' && ubuntu !== '1'
}

const instead = 'Start the gateway by hand with "npx aetheel start", or with launchd, pm2 or a similar tool.'

function kindOf(existing: string | null, text: string): ServiceControl['there'] {
  if (existing === null) return 'no'
  if (existing === text) return 'same'
  return existing.startsWith(madeByUs) ? 'other' : 'foreign'
}

/** Existing folders only, each once: npx puts many in front that do not exist. */
function foldersOf(path: string): string {
  const folders = path
    .split(delimiter)
    .filter(one => isAbsolute(one) && statSync(one, { throwIfNoEntry: false })?.isDirectory())
  return [...new Set(folders)].join(delimiter)
}

/** Options and backend credentials that are set only in this shell. The service also reads `.env` and config.json, so those do not count. */
function onlyInThisShell(env: LoadFrom['env'], loaded: Loaded): readonly string[] {
  const ours = eachOption().filter(([key]) => key !== 'config_dir')
  const fromHere = loaded.ok
    ? loaded.values.filter(({ key, from }) => key !== 'config_dir' && from === 'environment').map(one => one.env)
    : ours.map(([, option]) => option.env).filter(name => env[name])
  const logins = dialects.flatMap(({ credentials }) => credentials.variables).filter(name => env[name])
  return [...new Set([...fromHere, ...logins])]
}

function systemctl(env: LoadFrom['env'], args: readonly string[]): ReturnType<ServiceControl['systemctl']> {
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
