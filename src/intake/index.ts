// May it come in? Is it a command? Everything that wakes the agent passes here on its way to the lanes.
export { type Budget, openBudget } from './budget.ts'
export { openCommands } from './commands.ts'
export { openGate } from './gate.ts'
export { openIntake } from './intake.ts'
