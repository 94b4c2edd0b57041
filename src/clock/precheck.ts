// Is there anything new? Looked at before a job costs a turn.
import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import type { Precheck } from '../base/jobs.ts'

export type Checked =
  | { readonly type: 'unchanged' }
  /** To be remembered once the event was accepted. */
  | { readonly type: 'changed'; readonly fingerprint: string }
  /** It could not be told, in plain words. The job fires: a broken check must not silence it. */
  | { readonly type: 'unclear'; readonly why: string }

export interface PrecheckParts {
  /** The workspace. */
  readonly dir: string
  /** In a shell, in the workspace, until the signal. `output`: what it printed; not ok: it failed or took too long. */
  run(command: string, signal: AbortSignal): Promise<{ readonly ok: boolean; readonly output: string }>
  /** Why no command is run at the moment, in plain words; null: they are. */
  noCommands?(): string | null
  readonly timeoutMs?: number
}

const mostBytes = 1024 * 1024
const addressMs = 10_000
const commandMs = 60_000

/** `before`: the fingerprint of the last time; null: there was none. */
export async function unchanged(
  check: Precheck,
  before: string | null,
  parts: PrecheckParts,
  signal: AbortSignal,
): Promise<Checked> {
  // What is looked at counts too: another file with the same content is news.
  const hash = createHash('sha256').update(`${JSON.stringify(check)}\n`)
  const why = await feed(check, hash, parts, signal)
  if (why !== null) return { type: 'unclear', why }
  const fingerprint = hash.digest('base64url')
  return fingerprint === before ? { type: 'unchanged' } : { type: 'changed', fingerprint }
}

/** Null: everything went into the hash. */
async function feed(check: Precheck, hash: Hash, parts: PrecheckParts, signal: AbortSignal): Promise<string | null> {
  switch (check.type) {
    case 'file':
      return feedFile(check.path, hash, parts.dir)
    case 'url':
      return feedAddress(check.url, hash, within(parts.timeoutMs ?? addressMs, signal))
    case 'command': {
      const why = parts.noCommands?.() ?? null
      if (why !== null) return why
      const ended = await parts.run(check.command, within(commandMs, signal)).catch(() => null)
      if (!ended?.ok)
        return 'the command of Skip-if-unchanged failed; try it by hand, and see that ALLOWED_TOOLS has Bash'
      hash.update(ended.output)
      return null
    }
    default:
      return check satisfies never
  }
}

async function feedFile(path: string, hash: Hash, dir: string): Promise<string | null> {
  try {
    const found = await realpath(resolve(dir, path))
    if (!found.startsWith(`${await realpath(dir)}${sep}`))
      return 'the file of Skip-if-unchanged is not in the workspace'
    // Opening a pipe would wait for somebody to write into it.
    const file = await open(found, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) return 'what Skip-if-unchanged names is not a file'
      // Of any size: it is not kept.
      for await (const piece of file.createReadStream({ autoClose: false })) hash.update(piece)
    } finally {
      await file.close()
    }
    return null
  } catch (error) {
    if (isMissing(error)) return 'the file of Skip-if-unchanged is missing'
    return 'the file of Skip-if-unchanged cannot be read; check its permissions'
  }
}

async function feedAddress(url: string, hash: Hash, signal: AbortSignal): Promise<string | null> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return 'Skip-if-unchanged takes http and https addresses only'
  try {
    const answer = await fetch(url, { signal })
    if (!answer.ok) {
      await answer.body?.cancel()
      return `the address of Skip-if-unchanged answered ${answer.status}`
    }
    let bytes = 0
    for await (const piece of answer.body ?? []) {
      bytes += piece.byteLength
      // Leaving the loop ends the connection.
      if (bytes > mostBytes) return 'the address of Skip-if-unchanged answers with more than 1 MB'
      hash.update(piece)
    }
    return null
  } catch {
    return signal.aborted
      ? 'the address of Skip-if-unchanged does not answer in time'
      : 'the address of Skip-if-unchanged cannot be reached'
  }
}

const within = (ms: number, signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(ms)])

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'
