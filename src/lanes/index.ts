// Where events and letters wait their turn.
export { type LaneRules, openLanes } from './machine.ts'
