// The pre-check of a job: whether anything is new, before it costs a turn.

import { createHash, type Hash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import type { Precheck } from '../base/jobs.ts'
import { isMissing } from '../base/unknown.ts'

export type Checked =
  | { readonly type: 'unchanged' }
  /** To be stored once the event is accepted. */
  | { readonly type: 'changed'; readonly fingerprint: string }
  /** The check failed; `why` is for people. The job fires anyway: a broken check must not silence it. */
  | { readonly type: 'unclear'; readonly why: string }

export interface PrecheckParts {
  /** The workspace. */
  readonly dir: string
  /** Runs a command in a shell in the workspace until the signal. `output` is what it printed; not ok if it failed or took too long. */
  run(command: string, signal: AbortSignal): Promise<{ readonly ok: boolean; readonly output: string }>
  /** Why commands are not allowed at the moment, for people. Null if they are. */
  noCommands?(): string | null
  readonly timeoutMs?: number
}

const mostBytes = 1024 * 1024
const addressMs = 10_000
const commandMs = 60_000

/** `before` is the last fingerprint. Null if there is none. */
export async function unchanged(
  check: Precheck,
  before: string | null,
  parts: PrecheckParts,
  signal: AbortSignal,
): Promise<Checked> {
  // The check itself is part of the fingerprint: another file with the same content is news.
  const hash = createHash('sha256').update(`${JSON.stringify(check)}\n`)
  const why = await feed(check, hash, parts, signal)
  if (why !== null) return { type: 'unclear', why }
  const fingerprint = hash.digest('base64url')
  return fingerprint === before ? { type: 'unchanged' } : { type: 'changed', fingerprint }
}

/** Null if everything was added to the hash. */
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
    // Opening a named pipe would block until somebody writes to it.
    const file = await open(found, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!(await file.stat()).isFile()) return 'what Skip-if-unchanged names is not a file'
      // Of any size, since the content is only hashed.
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
      // Leaving the loop closes the connection.
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
