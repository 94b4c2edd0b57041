// Ends a run and everything it started, and all runs when the gateway ends for any reason.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { belongingTo, type Identity, identify, isRunning, type Signs, signalOne, signalTo } from './process-table.ts'
import { type Listed, watchdog } from './watchdog.ts'

/** Set to the folder of the run in the environment of every run. It exists before the process does, unlike a note of its pid. */
export const runTag = 'AETHEEL_RUN'

interface Run {
  pid: number
  root: Identity | null
  readonly tag: string | null
  /** True while the child is not reaped: until then its pid cannot be reused. */
  isOurs(): boolean
}

const runs = new Set<Run>()

/** For the exit of the gateway: kills every run immediately. */
export function killEverything(): void {
  const all = [...runs]
  // Twice, for processes that were just being started.
  for (let round = 0; round < 2 && all.length > 0; round++)
    for (const one of belongingTo(signsOf(all))) signalTo(one, 'SIGKILL')
  for (const { pid, isOurs } of all) if (isOurs()) signalOne(-pid, 'SIGKILL')
}

/** Ends the listed runs and everything that belongs to them; resolves when they are gone. */
export async function endListed(listed: readonly Listed[], graceMs: number): Promise<void> {
  const known = openKnown(listed.flatMap(({ tag }) => tag ?? []))
  known.collect(listed.flatMap(({ root }) => root ?? []))
  await known.end(graceMs)
}

export function createEnding(env: Readonly<Record<string, string>>, graceMs: number) {
  const tag = env[runTag] === undefined ? null : `${runTag}=${env[runTag]}`
  const known = openKnown(tag === null ? [] : [tag], () =>
    run.pid ? { pid: run.pid, ms: performance.now() - beganAt } : null,
  )
  let beganAt = 0
  const run: Run = { pid: 0, root: null, tag, isOurs: () => false }
  let begun = false
  let timer: NodeJS.Timeout | undefined
  const list = () => {
    if (tag !== null) watchdog.emit([...runs])
  }
  const forget = () => {
    runs.delete(run)
    list()
  }
  runs.add(run)
  list()

  const signalAll = (signal: NodeJS.Signals) => {
    if (!run.isOurs()) return
    known.collect(run.root ? [run.root] : [])
    signalOne(-run.pid, signal)
    known.signal(signal)
  }
  return {
    began(child: ChildProcess) {
      if (child.pid === undefined) return
      run.pid = child.pid
      beganAt = performance.now()
      run.root = identify(child.pid)
      run.isOurs = () => child.exitCode === null && child.signalCode === null
      list()
    },
    neverBegan: forget,
    /** SIGTERM for all, and SIGKILL for the rest after the grace period. Does nothing if the process is gone. */
    begin() {
      if (begun || !run.isOurs()) return
      begun = true
      signalAll('SIGTERM')
      timer = setTimeout(() => signalAll('SIGKILL'), graceMs)
    },
    /** Call on the exit event: only then can its descendants still be identified by its pid. */
    exited() {
      clearTimeout(timer)
      if (run.root) known.collect([], run.root)
      run.root = null
    },
    /** Resolves when everything it left behind is gone too. */
    async finish() {
      clearTimeout(timer)
      await known.end(begun ? 0 : graceMs)
      forget()
    },
  }
}

/** Remembers the processes seen to belong to a run, so that they are not lost when the processes between them and the run exit. */
function openKnown(tags: readonly string[], first: () => NonNullable<Signs['first']> | null = () => null) {
  let known: readonly Identity[] = []
  const collect = (roots: readonly Identity[], left: Identity | null = null) => {
    known = known.filter(isRunning)
    const found = belongingTo({ roots: [...roots, ...known], left, tags, first: first() })
    const isNew = ({ pid, started }: Identity) => !known.some(one => one.pid === pid && one.started === started)
    known = [...known, ...found.filter(isNew)]
  }
  return {
    collect,
    signal(signal: NodeJS.Signals) {
      for (const one of known) signalTo(one, signal)
    },
    /** Sends SIGTERM first if there is a grace period. */
    async end(graceMs: number) {
      for (let round = 0; known.length > 0 && round < 50; round++) {
        const asks = round === 0 && graceMs > 0
        this.signal(asks ? 'SIGTERM' : 'SIGKILL')
        for (let waited = 0; waited < (asks ? graceMs : 1000) && known.some(isRunning); waited += 10) await sleep(10)
        // A process may have started another in the meantime.
        collect([])
      }
    },
  }
}

const signsOf = (all: readonly Run[]) => ({
  roots: all.flatMap(({ root }) => root ?? []),
  tags: all.flatMap(({ tag }) => tag ?? []),
})
