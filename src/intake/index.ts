// Gate, commands and budget: every event that triggers the agent passes through here on its way to the lanes.

export { createCommands, steeredWords } from './commands.ts'
export { type Budget, createBudget, createDescentLimits, createGate, withChat, withinBudget } from './gate.ts'
export { openIntake } from './intake.ts'
export { completedCommands, createSuggestions } from './suggestions.ts'
