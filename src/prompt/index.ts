// The front door: what the agent is told.
export { assemble } from './assemble.ts'
export { capabilities } from './capabilities.ts'
export { composePrompt, wordsOf } from './compose.ts'
export { recallHistory } from './history.ts'
export { describeSender } from './sender.ts'
export { openSkills } from './skills.ts'
export { openSkillsDesk } from './skills-desk.ts'
export { openWorkspace } from './workspace.ts'
