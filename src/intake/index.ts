// May it come in? Is it a command? Everything that wakes the agent passes here on its way to the lanes.
export { openCommands } from './commands.ts'
export { openGate } from './gate.ts'
export { openIntake } from './intake.ts'
