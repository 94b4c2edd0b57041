// What a gateway stands on, as `aetheel doctor` looks at it: Node, configuration, folder, disk, database, port.
import { constants, statSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseUnusable, openDatabase } from '../store/index.ts'
import { askStatus, type Check } from '../ui/index.ts'
import { type Config, type Loaded, showProblems } from './config.ts'
import type { GatewayNote } from './note.ts'
import { ownerOf, tryPort } from './port.ts'

const madeFor = 24
const littleSpace = 200 * 1024 ** 2
const noSpace = 1024 ** 2

export function nodeChecks(versions: { readonly node: string; readonly sqlite?: string } = process.versions): Check[] {
  const name = 'node'
  const fix = `Run \`npm install\` in the folder of Aetheel: it brings Node ${madeFor} along. Or install Node ${madeFor} from nodejs.org.`
  try {
    void openDatabase(':memory:').close()
  } catch (error) {
    return [{ name, status: 'fail', detail: `${versions.node}, whose SQLite does not work (${wordsOf(error)})`, fix }]
  }
  const detail = `${versions.node} with SQLite ${versions.sqlite ?? 'built in'}`
  if (Number.parseInt(versions.node, 10) >= madeFor) return [{ name, status: 'ok', detail }]
  return [{ name, status: 'warn', detail: `${detail}; Aetheel is made for Node ${madeFor}`, fix }]
}

export function configurationChecks(loaded: Loaded, configDir: string): Check[] {
  const name = 'configuration'
  const warnings = loaded.warnings.map((detail): Check => ({ name, status: 'warn', detail }))
  if (!loaded.ok)
    return [
      ...loaded.problems.map((problem): Check => ({ name, status: 'fail', detail: showProblems([problem]) })),
      ...warnings,
    ]
  const file = join(configDir, 'config.json')
  const there = statSync(file, { throwIfNoEntry: false }) !== undefined
  const detail = there ? `good (${file})` : 'good; there is no config.json'
  return [{ name, status: 'ok', detail }, ...warnings]
}

export async function workspaceChecks(configDir: string): Promise<Check[]> {
  const name = 'workspace'
  const fix =
    'Check who may write there and that it is a folder, or choose another one with CONFIG_DIR or --config-dir.'
  const place = await nearest(configDir)
  if (!(await stat(place)).isDirectory()) return [{ name, status: 'fail', detail: `${place} is not a folder`, fix }]
  const inside = join(configDir, '.aetheel')
  const state = place === configDir && (await nearest(inside)) === inside ? [inside] : []
  for (const dir of [place, ...state]) {
    const why = await access(dir, constants.W_OK | constants.X_OK).then(() => null, wordsOf)
    if (why !== null) return [{ name, status: 'fail', detail: `${dir} cannot be written (${why})`, fix }]
  }
  const detail = place === configDir ? `${configDir} can be written` : `${configDir} will be made at the first start`
  return [{ name, status: 'ok', detail }]
}

export async function diskChecks(configDir: string): Promise<Check[]> {
  const { bavail, bsize } = await statfs(await nearest(configDir))
  return [diskCheck(bavail * bsize)]
}

export function diskCheck(free: number): Check {
  const name = 'disk'
  if (free >= littleSpace) return { name, status: 'ok', detail: `${inUnits(free)} free` }
  const fix = 'Make room on the disk of the workspace: nothing can be accepted that cannot be stored.'
  return { name, status: free < noSpace ? 'fail' : 'warn', detail: `only ${inUnits(free)} free`, fix }
}

export async function gatewayChecks(running: GatewayNote | null): Promise<Check[]> {
  const name = 'gateway'
  if (!running) return [{ name, status: 'off', detail: 'not running', fix: '`npx aetheel start` starts it.' }]
  const answer = await askStatus(running)
  const where = `${running.url}, process ${running.pid}`
  if (!answer.ok) {
    const fix = `End process ${running.pid}, then \`npx aetheel start\`.`
    return [{ name, status: 'warn', detail: `runs (${where}), but ${answer.why}`, fix }]
  }
  const { ready, version, backend } = answer.status
  const detail = `${ready ? 'runs' : 'is starting'}: ${where}, version ${version}, ${backend} answers`
  return [{ name, status: 'ok', detail }]
}

/** Opens it as a start would; never the one that a running gateway holds. */
export async function databaseChecks(configDir: string, running: GatewayNote | null): Promise<Check[]> {
  const name = 'database'
  if (running) return [{ name, status: 'ok', detail: 'in use by the running gateway' }]
  const file = join(configDir, '.aetheel', 'aetheel.db')
  const found = await stat(file).catch(() => null)
  if (!found) return [{ name, status: 'ok', detail: 'none yet; it is made at the first start' }]
  try {
    await openDatabase(file).close()
    return [{ name, status: 'ok', detail: `opens (${inUnits(found.size)})` }]
  } catch (error) {
    if (!(error instanceof DatabaseUnusable)) throw error
    if (error.kind !== 'locked') return [{ name, status: 'fail', detail: error.message }]
    const detail = 'in use, but no gateway answers: one is just starting or stopping, or hangs'
    return [{ name, status: 'warn', detail, fix: 'Ask again in a moment. If it stays, end that process.' }]
  }
}

export async function portChecks(
  { host, port }: Pick<Config['http'], 'host' | 'port'>,
  chosen: boolean,
  running: GatewayNote | null,
): Promise<Check[]> {
  const name = 'port'
  if (running) return [{ name, status: 'ok', detail: `the running gateway has ${new URL(running.url).port}` }]
  if (port === 0) return [{ name, status: 'ok', detail: 'any free one is taken' }]
  const where = `${port} on ${host}`
  const trouble = await tryPort(host, port)
  switch (trouble) {
    case null:
      return [{ name, status: 'ok', detail: `${where} is free` }]
    case 'EADDRINUSE': {
      const owner = ownerOf(port)
      const detail = `${where} is in use by ${owner ? `${owner.name} (process ${owner.pid})` : 'another program'}`
      if (!chosen) return [{ name, status: 'warn', detail: `${detail}; the next free one is taken instead` }]
      return [{ name, status: 'fail', detail, fix: 'End that program, or choose another port with HTTP_PORT.' }]
    }
    case 'EACCES':
      return [
        { name, status: 'fail', detail: `${where} is not ours to use`, fix: 'Choose one from 1024 on: HTTP_PORT.' },
      ]
    default: {
      const fix = 'Check HTTP_HOST: it must be an address of this machine, such as 127.0.0.1.'
      return [{ name, status: 'fail', detail: `${where} cannot be listened on (${trouble})`, fix }]
    }
  }
}

/** The folder itself, or of those above it the first that is there. */
async function nearest(dir: string): Promise<string> {
  const there = await stat(dir).then(
    () => true,
    () => false,
  )
  return there || dirname(dir) === dir ? dir : nearest(dirname(dir))
}

function inUnits(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
  const amount = bytes / 1000 ** step
  return `${amount < 10 && step > 0 ? amount.toFixed(1) : Math.round(amount)} ${units[step]}`
}

const wordsOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
