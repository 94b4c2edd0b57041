// Builds what the agent is told: system prompt, prompt of a turn, history, skills.
export { assemble } from './assemble.ts'
export { capabilities } from './capabilities.ts'
export { composePrompt, describeSpeaker, markOf, timeLine, wordsOf } from './compose.ts'
export { recallHistory } from './history.ts'
export { identityCalled } from './sections.ts'
export { createSkills } from './skills.ts'
export { createSkillsAdmin } from './skills-admin.ts'
export { createWorkspace } from './workspace.ts'
