// Requests for permission: the rules that answer them, and the people who are asked.
import type { NewEvent, Place } from '../../base/event.ts'
import { principalOfAll } from '../../base/event.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { RequestStore } from '../../base/requests.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import type { LiveConfig } from '../../config/index.ts'
import { createRequests } from '../../run/index.ts'

export interface RequestsWiringParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  readonly store: RequestStore
  readonly inbox: Lanes<NewEvent>
  accept(event: NewEvent): Promise<unknown>
  /** Where the owner is reached. */
  ownersPlace(): Place | null
  hide(text: string): string
}

export function createRequestsWiring({
  live,
  clock,
  emit,
  store,
  inbox,
  accept,
  ownersPlace,
  hide,
}: RequestsWiringParts) {
  return createRequests({
    ...{ store, clock, emit, inbox, accept },
    rule: ({ tool }, { allowedTools, askTools }) =>
      allowedTools.includes(tool)
        ? { type: 'allow', by: null }
        : { type: askTools.includes(tool) ? 'ask' : 'deny', by: null },
    suggest: () => null,
    addRule: async () => undefined,
    placeFor({ item, earlier }) {
      const isOwners = principalOfAll([...earlier.map(one => one.item), item]).owner
      // In their own conversation; what a job, a guest or a webhook leads to is not theirs.
      return isOwners && item.what.kind === 'message' ? item.replyTo : ownersPlace()
    },
    show: hide,
    settings: () => {
      const { timeout, reminder } = live.current().approvals
      return { timeoutMs: timeout, reminderMs: reminder }
    },
  })
}
