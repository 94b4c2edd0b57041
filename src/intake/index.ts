// Gate, commands and budget: every event that triggers the agent passes through here on its way to the lanes.

export { createCommands } from './commands.ts'
export { createDescentLimits } from './descent-limits.ts'
export { type Budget, createBudget, createGate, withinBudget } from './gate.ts'
export { openIntake } from './intake.ts'
export { completedCommands, createSuggestions } from './suggestions.ts'
