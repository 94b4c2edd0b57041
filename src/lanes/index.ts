// The queues in which events and deliveries wait for their turn.
export { openLanes } from './machine.ts'
export type { LaneRules } from './rules.ts'
