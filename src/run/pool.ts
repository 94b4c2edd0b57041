// Hosts that stay up between turns: bounded in number and memory, the least recently used leaves first, the idle ones leave.
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { whenStopped } from './ends.ts'
import type { Host } from './host.ts'

export interface PoolRules {
  readonly most: number
  readonly memoryBytes: number
  readonly idleMs: number
}

export interface PoolParts {
  readonly rules: PoolRules
  readonly clock: Clock
  readonly tell: Tell
  /** Memory of a process and all below it. */
  memoryOf(pid: number): number
}

/** Which host is wanted. */
export interface Wanted {
  readonly backend: string
  /** Empty: the host of this backend takes all sessions. */
  readonly session: string
  readonly fixed: string
  open(signal: AbortSignal): Promise<Host>
}

export interface Lease {
  readonly host: Host
  /** The session goes by another id from now on. */
  rename(session: string): void
  release(): void
  /** It is not to be trusted any more: nobody else gets it, and it is ended, if others still use it after them. */
  discard(): void
}

export interface Pool {
  /** Null: there is no room, or it does not come up; then the turn has to do without, and no host holds its session. */
  lease(wanted: Wanted, signal: AbortSignal): Promise<Lease | null>
  /** How many are up, and their memory when it was last looked at. */
  size(): { readonly hosts: number; readonly memoryBytes: number }
  close(): Promise<void>
}

interface Entry {
  readonly backend: string
  session: string
  readonly fixed: string
  readonly opening: Promise<Host | null>
  host: Host | null
  leases: number
  usedAt: number
  memory: number
  /** Nobody new gets it; it leaves with its last lease. */
  retired: boolean
  /** It has taken a turn. */
  proved: boolean
  leaving: Promise<void> | null
}

/** Before one of its kind was measured. */
const guessedMemory = 250 * 1024 * 1024
const troubles = { most: 2, restMs: 300_000 }
const lookEveryMs = 15_000

export function openPool({ rules, clock, tell, memoryOf }: PoolParts): Pool {
  const entries = new Set<Entry>()
  const usual = new Map<string, number>()
  const trouble = new Map<string, { count: number; until: number }>()
  const closing = new AbortController()
  let looking = false

  const staying = () => [...entries].filter(entry => entry.leaving === null)
  const memoryInUse = () => staying().reduce((sum, entry) => sum + entry.memory, 0)
  const holding = (wanted: Wanted) =>
    [...entries].filter(entry => entry.backend === wanted.backend && entry.session === wanted.session)

  function end(entry: Entry): Promise<void> {
    entry.retired = true
    entry.leaving ??= entry.opening
      .then(host => host?.close())
      .catch(() => undefined)
      .then(() => void entries.delete(entry))
    return entry.leaving
  }

  const idle = () =>
    [...entries].filter(entry => entry.leases === 0 && !entry.retired).sort((a, b) => a.usedAt - b.usedAt)

  /** Room for one more, if need be by ending those that were not used for longest. */
  function makeRoom(memory: number): boolean {
    const fits = () => staying().length < rules.most && memoryInUse() + memory <= rules.memoryBytes
    if (memory > rules.memoryBytes) return false
    for (const entry of idle()) {
      if (fits()) break
      void end(entry)
    }
    return fits()
  }

  function begin(wanted: Wanted, memory: number): Entry {
    const opening = wanted.open(closing.signal).then(
      host => {
        entry.host = host
        void host.gone.then(() => {
          entry.retired = true
          entries.delete(entry)
        })
        return host
      },
      (error: unknown) => {
        entries.delete(entry)
        failed(wanted.backend, error)
        return null
      },
    )
    const entry: Entry = {
      backend: wanted.backend,
      session: wanted.session,
      fixed: wanted.fixed,
      opening,
      host: null,
      leases: 0,
      usedAt: clock.now(),
      memory,
      retired: false,
      proved: false,
      leaving: null,
    }
    entries.add(entry)
    void keepLooking()
    return entry
  }

  /** What does not come up twice in a row is left alone for a while. */
  function failed(backend: string, error: unknown): void {
    const count = (trouble.get(backend)?.count ?? 0) + 1
    trouble.set(backend, { count, until: count >= troubles.most ? clock.now() + troubles.restMs : 0 })
    tell({ type: 'warm-trouble', backend, why: error instanceof Error ? error.message : String(error) })
  }

  /** At once, so that nobody takes it for idle in the meantime. */
  function taken(entry: Entry): Entry {
    entry.leases++
    return entry
  }

  async function find(wanted: Wanted): Promise<Entry | null> {
    const held = holding(wanted)
    const fitting = held.find(entry => !entry.retired && entry.fixed === wanted.fixed)
    if (fitting) return taken(fitting)
    // A session is held by one process at a time; one that takes all sessions may end its turns beside the new one.
    for (const entry of held) {
      entry.retired = true
      if (entry.leases === 0) await end(entry)
      else if (wanted.session !== '') return null
    }
    const memory = usual.get(wanted.backend) ?? guessedMemory
    const resting = (trouble.get(wanted.backend)?.until ?? 0) > clock.now()
    if (resting || closing.signal.aborted) return null
    // Somebody may have opened it while the old one left.
    const fresh = holding(wanted).find(entry => !entry.retired && entry.fixed === wanted.fixed)
    if (fresh) return taken(fresh)
    return makeRoom(memory) ? taken(begin(wanted, memory)) : null
  }

  async function lease(wanted: Wanted, signal: AbortSignal): Promise<Lease | null> {
    const entry = await find(wanted)
    if (entry === null) return null
    const host = await Promise.race([entry.opening, whenStopped(signal).then(() => null)])
    let over = false
    const giveBack = (broken: boolean) => {
      if (over) return
      over = true
      entry.leases--
      entry.usedAt = clock.now()
      if (host && !broken) entry.proved = true
      if (entry.proved) trouble.delete(entry.backend)
      else if (host) failed(entry.backend, 'it did not take its first turn')
      if (broken) entry.retired = true
      if (!entry.retired || entry.leases > 0) return
      if (broken) entry.host?.kill()
      void end(entry)
    }
    if (!host) {
      giveBack(false)
      return null
    }
    return {
      host,
      rename(session) {
        entry.session = session
      },
      release: () => giveBack(false),
      discard: () => giveBack(true),
    }
  }

  /** While anything is up: ends what was idle for too long, and what takes more memory than there is for all. */
  async function keepLooking(): Promise<void> {
    if (looking) return
    looking = true
    while (entries.size > 0 && !closing.signal.aborted) {
      await clock.sleep(Math.min(lookEveryMs, rules.idleMs), closing.signal)
      for (const entry of entries) {
        if (!entry.host?.pid) continue
        entry.memory = memoryOf(entry.host.pid)
        usual.set(entry.backend, entry.memory)
      }
      for (const entry of idle())
        if (clock.now() - entry.usedAt >= rules.idleMs || memoryInUse() > rules.memoryBytes) void end(entry)
    }
    looking = false
  }

  return {
    lease,
    size: () => ({ hosts: staying().length, memoryBytes: memoryInUse() }),
    async close() {
      closing.abort()
      await Promise.all([...entries].map(end))
    },
  }
}
