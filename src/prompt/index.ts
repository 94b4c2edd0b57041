// Builds what the agent reads: system prompt, prompt of a turn, history, skills.
export { capabilities } from './capabilities.ts'
export { assemble, composePrompt, describeSpeaker, markOf, timeLine, wordsOf } from './compose.ts'
export { recallHistory } from './history.ts'
export { identityCalled } from './sections.ts'
export { powerInSkill } from './skill-power.ts'
export { createSkills } from './skills.ts'
export { createSkillsAdmin } from './skills-admin.ts'
export { createWorkspace } from './workspace.ts'
