// The files of a security audit: modes of state and secrets, logins of the CLIs, and secrets in files that the agent reads.
import { constants } from 'node:fs'
import { lstat, open, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Check } from '../../base/check.ts'
import { counted } from '../../base/counted.ts'

export interface FileAuditParts {
  readonly configDir: string
  readonly home: string
  readonly secrets: readonly string[]
  readonly fix: boolean
}

const stateFolder = '.aetheel'
const mostFiles = 5000
const mostTexts = 200
const mostBytes = 1024 * 1024
/** Shorter ones occur by chance. */
const shortestSecret = 8

/** In the home folder, where CLIs keep their logins. */
const logins = [
  '.claude/.credentials.json',
  '.claude.json',
  '.codex/auth.json',
  '.gemini/oauth_creds.json',
  '.local/share/opencode/auth.json',
  '.pi/agent/auth.json',
]
/** They may contain secrets. */
const configuration = ['.env', 'config.json', 'bot-config.json']

const others = 0o077
const writable = 0o022

interface Wide {
  readonly path: string
  readonly shown: string
  readonly mode: number
  readonly isFolder: boolean
}

export async function fileChecks(parts: FileAuditParts): Promise<readonly Check[]> {
  const { configDir, home } = parts
  const state = join(configDir, stateFolder)
  const inState = [state, ...(await filesIn(state, mostFiles))]
  return [
    await modeCheck('state', inState, others, 'other users can read or change it', parts),
    await modeCheck('secrets', await withSecrets(parts), others, 'other users can read it', parts),
    await modeCheck(
      'workspace',
      paths(configDir, ['.', 'ipc', 'ipc/outbound', 'skills']),
      writable,
      'other users can write to it',
      parts,
    ),
    await modeCheck('cli logins', paths(home, logins), others, 'other users can read it', parts),
    await homeCheck(home),
    await leakCheck(parts),
  ]
}

/** A config.json without secrets may be read by anybody. */
async function withSecrets({ configDir, secrets }: FileAuditParts): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of paths(configDir, configuration)) {
    const text = await readFile(path, 'utf8').catch(() => '')
    if (path.endsWith('.env') || secrets.some(secret => secret !== '' && text.includes(secret))) found.push(path)
  }
  return found
}

const paths = (dir: string, names: readonly string[]) => names.map(name => join(dir, name))

/** Files and folders below, without following links. */
async function filesIn(dir: string, most: number): Promise<readonly string[]> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  return found.slice(0, most).map(({ parentPath, name }) => join(parentPath, name))
}

async function modeCheck(
  name: string,
  files: readonly string[],
  forbidden: number,
  why: string,
  { configDir, home, fix }: FileAuditParts,
): Promise<Check> {
  const wide: Wide[] = []
  let seen = 0
  for (const path of files) {
    const stats = await lstat(path).catch(() => null)
    if (!stats || stats.isSymbolicLink()) continue
    seen += 1
    const shown = relative(configDir, path).startsWith('..')
      ? `~/${relative(home, path)}`
      : relative(configDir, path) || '.'
    if (stats.mode & forbidden) wide.push({ path, shown, mode: stats.mode, isFolder: stats.isDirectory() })
  }
  if (seen === 0) return { name, status: 'ok', detail: 'none yet' }
  if (wide.length === 0) return { name, status: 'ok', detail: `${counted(seen, 'file')}, closed to other users` }
  const named = `${wide
    .slice(0, 5)
    .map(({ shown }) => shown)
    .join(', ')}${wide.length > 5 ? ` and ${wide.length - 5} more` : ''}`
  if (!fix)
    return { name, status: 'fail', detail: `${named}: ${why}`, fix: '`npx aetheel security audit --fix` closes them.' }
  const failed = (await Promise.all(wide.map(one => narrow(one, forbidden)))).filter(done => !done).length
  return failed === 0
    ? { name, status: 'ok', detail: `closed to other users now: ${named}` }
    : {
        name,
        status: 'fail',
        detail: `${named}: ${counted(failed, 'file')} could not be closed`,
        fix: 'Check who owns them.',
      }
}

/** By descriptor, so that a link that has replaced it meanwhile is not followed. */
async function narrow({ path, mode, isFolder }: Wide, forbidden: number): Promise<boolean> {
  const flags =
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | (isFolder ? constants.O_DIRECTORY : 0)
  const file = await open(path, flags).catch(() => null)
  if (!file) return false
  return file
    .chmod(mode & 0o777 & ~forbidden)
    .then(
      () => true,
      () => false,
    )
    .finally(() => file.close())
}

async function homeCheck(home: string): Promise<Check> {
  const name = 'home'
  const stats = await lstat(home).catch(() => null)
  if (!stats) return { name, status: 'off', detail: 'there is none' }
  if ((stats.mode & 0o007) === 0) return { name, status: 'ok', detail: 'closed to other users' }
  const detail = 'other users of this machine can look into your home folder'
  return { name, status: 'warn', detail, fix: `\`chmod o-rwx ${home}\`, unless other programs need it.` }
}

/** Secrets of the configuration in other files of the workspace: the agent reads them, and may repeat them. */
async function leakCheck({ configDir, secrets }: FileAuditParts): Promise<Check> {
  const name = 'leaks'
  const wanted = secrets.filter(secret => secret.length >= shortestSecret)
  const entries = await readdir(configDir, { withFileTypes: true }).catch(() => [])
  const texts = entries
    .filter(entry => entry.isFile() && !configuration.includes(entry.name))
    .slice(0, mostTexts)
    .map(entry => entry.name)
  const leaking: string[] = []
  for (const file of texts) {
    const stats = await lstat(join(configDir, file)).catch(() => null)
    if (!stats || stats.size > mostBytes) continue
    const text = await readFile(join(configDir, file), 'utf8').catch(() => '')
    if (wanted.some(secret => text.includes(secret))) leaking.push(file)
  }
  if (leaking.length === 0)
    return { name, status: 'ok', detail: 'no secret of the configuration is in a file the agent reads' }
  return {
    name,
    status: 'fail',
    detail: `a secret of the configuration is in ${leaking.join(', ')}, which the agent reads`,
    fix: 'Remove it there, and replace the secret by a new one.',
  }
}
