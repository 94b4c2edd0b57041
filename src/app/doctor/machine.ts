// The machine checks of `aetheel doctor`: Node, configuration, folder, disk, gateway, database, port.

import { constants, statSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Check } from '../../base/check.ts'
import { errorText } from '../../base/unknown.ts'
import { type Config, type Loaded, showProblems } from '../../config/index.ts'
import { DatabaseUnusable, lossNote, openDatabase } from '../../store/index.ts'
import { askStatus } from '../../ui/index.ts'
import type { GatewayNote } from '../discovery-file.ts'
import { ownerOf, tryPort } from '../setup/port.ts'

const madeFor = 24
const littleSpace = 200 * 1024 ** 2
const noSpace = 1024 ** 2

export function nodeChecks(versions: { readonly node: string; readonly sqlite?: string } = process.versions): Check[] {
  const name = 'node'
  const fix = `Run \`npm install\` in the folder of Aetheel: it installs Node ${madeFor} there. Or install Node ${madeFor} from nodejs.org.`
  try {
    void openDatabase(':memory:').close()
  } catch (error) {
    return [{ name, status: 'fail', detail: `${versions.node}, whose SQLite does not work (${errorText(error)})`, fix }]
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
  const detail = there ? `valid (${file})` : 'valid; there is no config.json'
  return [{ name, status: 'ok', detail }, ...warnings]
}

export async function workspaceChecks(configDir: string): Promise<Check[]> {
  const name = 'workspace'
  const fix = 'Check that it is a folder that you can write to, or choose another one with CONFIG_DIR or --config-dir.'
  const place = await nearest(configDir)
  if (!(await stat(place)).isDirectory()) return [{ name, status: 'fail', detail: `${place} is not a folder`, fix }]
  const inside = join(configDir, '.aetheel')
  const state = place === configDir && (await nearest(inside)) === inside ? [inside] : []
  for (const dir of [place, ...state]) {
    const why = await access(dir, constants.W_OK | constants.X_OK).then(() => null, errorText)
    if (why !== null) return [{ name, status: 'fail', detail: `${dir} is not writable (${why})`, fix }]
  }
  const detail = place === configDir ? `${configDir} is writable` : `${configDir} will be created at the first start`
  return [{ name, status: 'ok', detail }]
}

export async function diskChecks(configDir: string): Promise<Check[]> {
  const { bavail, bsize } = await statfs(await nearest(configDir))
  return [diskCheck(bavail * bsize)]
}

export function diskCheck(free: number): Check {
  const name = 'disk'
  if (free >= littleSpace) return { name, status: 'ok', detail: `${inUnits(free)} free` }
  const fix = 'Free some space on the disk of the workspace: messages that cannot be stored are not accepted.'
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
  const { ready, version, backend, trouble, resting } = answer.status
  if (trouble !== null) return [{ name, status: 'fail', detail: `runs (${where}), but accepts nothing: ${trouble}` }]
  const detail = `${ready ? 'runs' : 'is starting'}: ${where}, version ${version}, ${backend} answers`
  if (resting.length === 0) return [{ name, status: 'ok', detail }]
  const rests = resting.map(one => `${one.backend} (${one.why.replaceAll('-', ' ')})`).join(', ')
  const fix = 'The fallbacks are asked first for a while. `/backend NAME` in a chat asks it again immediately.'
  return [{ name, status: 'warn', detail: `${detail}; could not answer lately: ${rests}`, fix }]
}

/** Opens the database as a start would, but never while a running gateway holds it. */
export async function databaseChecks(configDir: string, running: GatewayNote | null): Promise<Check[]> {
  const name = 'database'
  if (running) {
    const answer = await askStatus(running)
    const notes = answer.ok ? answer.status.notes : []
    if (notes.length > 0) return notes.map(detail => ({ name, status: 'warn', detail }))
    return [{ name, status: 'ok', detail: 'in use by the running gateway' }]
  }
  const file = join(configDir, '.aetheel', 'aetheel.db')
  const found = await stat(file).catch(() => null)
  if (!found) return [{ name, status: 'ok', detail: 'none yet; it is created at the first start' }]
  try {
    const db = openDatabase(file)
    await db.close()
    const loss = lossNote(db.lost)
    if (loss !== null) return [{ name, status: 'warn', detail: loss }]
    return [{ name, status: 'ok', detail: `opens (${inUnits(found.size)})` }]
  } catch (error) {
    if (!(error instanceof DatabaseUnusable)) throw error
    if (error.kind !== 'locked') return [{ name, status: 'fail', detail: error.message }]
    const detail = 'in use, but no gateway answers: one is just starting or stopping, or hangs'
    return [{ name, status: 'warn', detail, fix: 'Try again in a moment. If it stays locked, end that process.' }]
  }
}

export async function portChecks(
  { host, port }: Pick<Config['http'], 'host' | 'port'>,
  chosen: boolean,
  running: GatewayNote | null,
): Promise<Check[]> {
  const name = 'port'
  if (running) return [{ name, status: 'ok', detail: `the running gateway has ${new URL(running.url).port}` }]
  if (port === 0) return [{ name, status: 'ok', detail: 'any free port is used' }]
  const where = `${port} on ${host}`
  const trouble = await tryPort(host, port)
  switch (trouble) {
    case null:
      return [{ name, status: 'ok', detail: `${where} is free` }]
    case 'EADDRINUSE': {
      const owner = ownerOf(port)
      const detail = `${where} is in use by ${owner ? `${owner.name} (process ${owner.pid})` : 'another program'}`
      if (!chosen) return [{ name, status: 'warn', detail: `${detail}; the next free port is used instead` }]
      return [{ name, status: 'fail', detail, fix: 'End that program, or choose another port with HTTP_PORT.' }]
    }
    case 'EACCES':
      return [
        {
          name,
          status: 'fail',
          detail: `${where} may not be used by this user`,
          fix: 'Choose a port of 1024 or above with HTTP_PORT.',
        },
      ]
    default: {
      const fix = 'Check HTTP_HOST: it must be an address of this machine, such as 127.0.0.1.'
      return [{ name, status: 'fail', detail: `${where} cannot be listened on (${trouble})`, fix }]
    }
  }
}

/** The folder itself, or its nearest parent that exists. */
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
