// One attempt at a taken item: runs it and stores its outcome.
import type { Outcome, QueueRow, QueueStore, Taken } from '../base/lanes.ts'
import type { Clock } from '../base/time.ts'
import type { Handle, LaneRules } from './rules.ts'

export interface AttemptParts<Item> {
  readonly queueStore: Pick<QueueStore, 'settle'>
  readonly clock: Clock
  readonly rules: Pick<LaneRules<Item>, 'maxAttempts' | 'giveUp' | 'broke' | 'stuck' | 'unstored'>
  isWorking(): boolean
  /** Aborts when the work ends, so that nobody keeps waiting for the disk. */
  over(): AbortSignal
}

export const longestPauseMs = 30_000

/** Null: the outcome is not on disk. */
export type Attempt<Item> = (
  taken: Taken<Item>,
  rows: readonly QueueRow[],
  run: Handle<Item>,
  signal: AbortSignal,
) => Promise<Outcome | null>

export function createAttempts<Item>({ queueStore, clock, rules, isWorking, over }: AttemptParts<Item>): Attempt<Item> {
  async function end(taken: Taken<Item>, run: Handle<Item>, signal: AbortSignal): Promise<Outcome> {
    if (taken.attempt > rules.maxAttempts) return rules.giveUp(taken)
    try {
      return await run(taken, signal)
    } catch (error) {
      return rules.broke(taken, error)
    }
  }

  /** An outcome counts only once it is on disk. Retries until the write succeeds or the work is stopped. */
  async function settle(rows: readonly QueueRow[], outcome: Outcome): Promise<'stored' | 'stopped' | 'never'> {
    for (let pause = 100; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        await queueStore.settle(
          rows.map(row => row.id),
          outcome,
        )
        return 'stored'
      } catch (error) {
        if (rules.stuck(error) === 'never') return 'never'
        if (!isWorking()) return 'stopped'
        await clock.sleep(pause, over())
      }
    }
  }

  return async (taken, rows, run, signal) => {
    const outcome = await end(taken, run, signal)
    const settled = await settle(rows, outcome)
    if (settled === 'never') rules.unstored?.(taken)
    return settled === 'stored' ? outcome : null
  }
}

export function toTaken<Item>(row: QueueRow, earlier: readonly QueueRow[]): Taken<Item> {
  return {
    id: row.id,
    lane: row.lane,
    key: row.key,
    item: JSON.parse(row.body) as Item,
    at: row.at,
    attempt: Math.max(row.attempts, ...earlier.map(one => one.attempts)),
    retries: row.retries,
    interrupted: row.interrupted || earlier.some(one => one.interrupted),
    putOff: row.notBefore > 0,
    earlier: earlier.map(one => ({ id: one.id, key: one.key, item: JSON.parse(one.body) as Item })),
  }
}
