// What Mission Control shows: the timeline, the activity log, and the overview over both.
import { join } from 'node:path'
import type { NewEvent } from '../../base/event.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import { visible } from '../../base/visible.ts'
import type { LiveConfig } from '../../config/index.ts'
import {
  createActivity,
  createOptionalWrites,
  createTimeline,
  createWorkStore,
  type Database,
  followFiles,
  type UsageStore,
} from '../../store/index.ts'
import { createOverview } from '../../ui/index.ts'
import { logFolder } from '../state-folder.ts'

export interface OverviewParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly emit: Emit
  readonly inbox: Lanes<NewEvent>
  readonly usage: UsageStore
  readonly jobs: Jobs
  openRequests(): number
  status(): object
  /** Removes secrets. */
  hide(text: string): string
}

export async function openOverview(parts: OverviewParts) {
  const { live, db, clock, emit, inbox, usage, jobs, openRequests, status } = parts
  const { configDir } = live.current()
  const writes = createOptionalWrites(db)
  const timeline = createTimeline(db, clock, writes)
  const work = createWorkStore(db, clock, writes, text => visible(parts.hide(text)))
  const activity = createActivity({
    path: join(configDir, 'activity-log.json'),
    now: clock.now,
    eventOf: timeline.eventOf,
    failed: error =>
      emit({
        type: 'workspace-trouble',
        file: 'activity-log.json',
        why: error instanceof Error ? error.message : String(error),
      }),
  })
  const overview = await createOverview({
    ...{ activity, timeline, work, inbox, jobs, usage, status, openRequests, now: clock.now },
    followFiles: listener => followFiles(configDir, ['', 'skills/*', logFolder], listener),
    logPrefix: `${logFolder}/`,
    isReadable: () => db.trouble()?.kind !== 'damaged',
    zone: () => live.current().timezone,
  })
  return {
    admin: overview.admin,
    work,
    listeners: [overview.listen, timeline.listen, work.listen, activity.listen],
    flush: activity.flush,
  }
}
