// The pool of warm hosts: bounded in number and memory. Idle hosts are closed, the least recently used one first.

import type { AgentEvent, Turn } from '../base/agent.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { errorText } from '../base/unknown.ts'
import { unlessStopped } from './events.ts'

/** A backend process that stays up and takes one turn after another. */
export interface Host {
  readonly pid: number | null
  /** Runs one turn, like `Backend.run`. An abort interrupts the turn, and the host stays usable. */
  run(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>
  /** Asks it to exit; resolves when it and everything it started are gone. */
  close(): Promise<void>
  /** For a host that holds many sessions, each with its own processes. */
  readonly sessions?: {
    has(id: string): boolean
    /** Frees the resources of sessions without a turn for this long; returns how many sessions that were. */
    shed(idleMs: number): number
  }
  /** Kills it. */
  kill(): void
  /** Resolves when it is gone, for any reason. */
  readonly gone: Promise<unknown>
}

export interface PoolRules {
  readonly most: number
  readonly memoryBytes: number
  readonly idleMs: number
}

export interface PoolParts {
  readonly rules: PoolRules
  readonly clock: Clock
  readonly emit: Emit
  /** Memory of a process and all its descendants. */
  memoryOf(pid: number): number
}

/** Which host is wanted. */
export interface Wanted {
  readonly backend: string
  /** Empty: the host of this backend takes all sessions. */
  readonly session: string
  /** The session of the turn, also if the host takes all sessions; empty: a new one. */
  readonly turnOf: string
  /** Hosts are never shared between different values: the profile of the turn. */
  readonly apart: string
  readonly fixed: string
  open(signal: AbortSignal): Promise<Host>
}

export interface Lease {
  readonly host: Host
  /** The session has another id from now on. */
  rename(session: string): void
  release(): void
  /** It can no longer be trusted: nobody else gets it, and it is killed once its last lease ends. */
  discard(): void
}

export interface Pool {
  /** Null: there is no room, or the host does not start. Then the turn runs cold, and no host holds its session. */
  lease(wanted: Wanted, signal: AbortSignal): Promise<Lease | null>
  /** How many are up, and their memory when last measured. */
  size(): { readonly hosts: number; readonly memoryBytes: number }
  close(): Promise<void>
}

interface Entry {
  readonly backend: string
  readonly apart: string
  session: string
  readonly fixed: string
  readonly opening: Promise<Host | null>
  host: Host | null
  leases: number
  usedAt: number
  memory: number
  /** Nobody new gets it; it is closed when its last lease ends. */
  retired: boolean
  /** It has completed a turn. */
  proved: boolean
  leaving: Promise<void> | null
}

/** Used until a host of this backend has been measured. */
const guessedMemory = 250 * 1024 * 1024
/** What a turn may add to a host for all sessions, until it is measured again: the MCP servers of its conversation. */
const guessedGrowth = 80 * 1024 * 1024
const failures = { most: 2, cooldownMs: 300_000 }
const checkEveryMs = 15_000

export function openPool({ rules, clock, emit, memoryOf }: PoolParts): Pool {
  const entries = new Set<Entry>()
  const usual = new Map<string, number>()
  const problems = new Map<string, { count: number; until: number }>()
  const closing = new AbortController()
  let checking = false

  /** The failures of one guest's hosts do not count for others. */
  const kindOf = ({ backend, apart }: Pick<Wanted, 'backend' | 'apart'>) => `${backend} ${apart}`
  const staying = () => [...entries].filter(entry => entry.leaving === null)
  const memoryInUse = () => staying().reduce((sum, entry) => sum + entry.memory, 0)
  const holding = (wanted: Wanted) =>
    [...entries].filter(
      entry => entry.backend === wanted.backend && entry.apart === wanted.apart && entry.session === wanted.session,
    )

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

  /** Makes room for one more, if necessary by closing the least recently used idle hosts. */
  function makeRoom(memory: number): boolean {
    const fits = () => staying().length < rules.most && memoryInUse() + memory <= rules.memoryBytes
    if (memory > rules.memoryBytes) return false
    for (const entry of idle()) {
      if (fits()) break
      void end(entry)
    }
    return fits()
  }

  function measure(): void {
    for (const entry of staying()) {
      if (!entry.host?.pid) continue
      entry.memory = memoryOf(entry.host.pid)
      // A host for all sessions grows with them, but the next one starts small again.
      const most = entry.session === '' ? (usual.get(entry.backend) ?? guessedMemory) : Number.POSITIVE_INFINITY
      usual.set(entry.backend, Math.min(entry.memory, most))
    }
  }

  /** Whether a host for all sessions may take one more. If necessary, closes other hosts or frees idle sessions. */
  function takesOneMore(entry: Entry, session: string): boolean {
    const sessions = entry.host?.sessions
    if (sessions?.has(session)) return true
    const left = () => rules.memoryBytes - memoryInUse()
    if (left() < guessedGrowth) {
      measure()
      for (const other of idle()) if (other !== entry && left() < guessedGrowth) void end(other)
      // If it takes less than guessed, the next turn measures it again.
      if (left() < guessedGrowth && !sessions?.shed(0) && left() < 0) return false
    }
    entry.memory += guessedGrowth
    return true
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
        failed(wanted, error)
        return null
      },
    )
    const entry: Entry = {
      backend: wanted.backend,
      apart: wanted.apart,
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
    void keepChecking()
    return entry
  }

  /** After two failures in a row the backend gets no warm host for a while. */
  function failed(of: Pick<Wanted, 'backend' | 'apart'>, error: unknown): void {
    const { backend } = of
    const count = (problems.get(kindOf(of))?.count ?? 0) + 1
    problems.set(kindOf(of), { count, until: count >= failures.most ? clock.now() + failures.cooldownMs : 0 })
    emit({ type: 'warm-trouble', backend, why: errorText(error) })
  }

  /** Counts the lease right away, so that the host is not taken for idle in the meantime. */
  function taken(entry: Entry): Entry {
    entry.leases++
    return entry
  }

  async function find(wanted: Wanted): Promise<Entry | null> {
    const held = holding(wanted)
    const fitting = held.find(entry => !entry.retired && entry.fixed === wanted.fixed)
    if (fitting && (wanted.session !== '' || takesOneMore(fitting, wanted.turnOf))) return taken(fitting)
    // One process at a time holds a session. A host for all sessions may finish its turns beside the new one.
    for (const entry of held) {
      entry.retired = true
      if (entry.leases === 0) await end(entry)
      else if (wanted.session !== '') return null
    }
    // Another turn may have opened one while the old one was closing.
    if (holding(wanted).some(entry => !held.includes(entry))) return find(wanted)
    const memory = usual.get(wanted.backend) ?? guessedMemory
    const coolingDown = (problems.get(kindOf(wanted))?.until ?? 0) > clock.now()
    if (coolingDown || closing.signal.aborted) return null
    return makeRoom(memory) ? taken(begin(wanted, memory)) : null
  }

  async function lease(wanted: Wanted, signal: AbortSignal): Promise<Lease | null> {
    const entry = await find(wanted)
    if (entry === null) return null
    const host = await unlessStopped(entry.opening, signal, null)
    let over = false
    const giveBack = (broken: boolean) => {
      if (over) return
      over = true
      entry.leases--
      entry.usedAt = clock.now()
      if (host && !broken) entry.proved = true
      if (entry.proved) problems.delete(kindOf(entry))
      else if (host) failed(entry, 'it did not complete its first turn')
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

  /** Runs while anything is up: closes hosts that were idle for too long, or when all together exceed the memory limit. */
  async function keepChecking(): Promise<void> {
    if (checking) return
    checking = true
    while (entries.size > 0 && !closing.signal.aborted) {
      await clock.sleep(Math.min(checkEveryMs, rules.idleMs), closing.signal)
      measure()
      for (const entry of idle())
        if (clock.now() - entry.usedAt >= rules.idleMs || memoryInUse() > rules.memoryBytes) void end(entry)
      // Hosts for all sessions are hardly ever idle.
      for (const entry of staying()) {
        const isOver = memoryInUse() > rules.memoryBytes
        const gone = entry.host?.sessions?.shed(isOver ? 0 : rules.idleMs) ?? 0
        if (isOver && gone === 0 && entry.session === '') entry.retired = true
      }
    }
    checking = false
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
