// What Mission Control shows: the timeline, the activity log, and the overview over both.
import { join } from 'node:path'
import type { NewEvent } from '../../base/event.ts'
import type { Jobs } from '../../base/jobs.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import type { LiveConfig } from '../../config/index.ts'
import { createActivity, createTimeline, type Database, followFiles, type UsageStore } from '../../store/index.ts'
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
}

export async function openOverview({ live, db, clock, emit, inbox, usage, jobs, openRequests, status }: OverviewParts) {
  const { configDir } = live.current()
  const timeline = createTimeline(db, clock)
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
    ...{ activity, timeline, inbox, jobs, usage, status, openRequests, now: clock.now },
    followFiles: listener => followFiles(configDir, ['', 'skills/*', logFolder], listener),
    logPrefix: `${logFolder}/`,
    isReadable: () => db.trouble()?.kind !== 'damaged',
    zone: () => live.current().timezone,
  })
  return {
    admin: overview.admin,
    listeners: [overview.listen, timeline.listen, activity.listen],
    flush: activity.flush,
  }
}
