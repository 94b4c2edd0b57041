// The front door: what the agent is told.
export { assemble, parseSections } from './assemble.ts'
export { capabilities, type Surroundings } from './capabilities.ts'
export { composePrompt, interruptedNote, type PromptParts } from './compose.ts'
export { type PastTurn, recallHistory } from './history.ts'
export type { Sections } from './sections.ts'
export { openWorkspace, type Workspace } from './workspace.ts'
