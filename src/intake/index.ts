// May it come in? Everything that wakes the agent passes here on its way to the lanes.
export { openIntake } from './intake.ts'
