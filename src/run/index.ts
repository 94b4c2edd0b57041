// One turn of one agent.
export { withWords } from './attempt.ts'
export {
  type BackendParts,
  type Choice,
  chooseBackend,
  dialects,
  openBackend,
  pathHint,
  toolsWayOf,
} from './backends/index.ts'
export { type Login, loginOf } from './login.ts'
export { openPool } from './pool.ts'
export { treeMemory } from './proc.ts'
export { killEverything } from './process.ts'
export { openRoutes, type Route } from './route.ts'
export { openScratch, type Scratch } from './scratch.ts'
export { endStrays } from './strays.ts'
export { openSubAgents } from './subagents.ts'
export { openTurns } from './turn.ts'
export { cutOff } from './watch.ts'
export { findProgram } from './which.ts'
