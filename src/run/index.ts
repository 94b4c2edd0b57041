// Runs one turn of an agent: chooses the backend, runs its process, and turns its output into an outcome.
export { withWords } from './attempt.ts'
export {
  type BackendParts,
  type Choice,
  chooseBackend,
  createBackend,
  dialects,
  pathHint,
  toolAccessOf,
} from './backends/index.ts'
export { killEverything } from './end-processes.ts'
export { cutOff } from './events.ts'
export { findProgram } from './find-program.ts'
export { type Login, loginOf, loginWith } from './login.ts'
export { endOrphans } from './orphans.ts'
export { decide, rulesIn } from './permissions/decide.ts'
export { openPermissions, type Permissions } from './permissions/file.ts'
export { listsFor, toolsFor } from './permissions/modes.ts'
export { suggestRule } from './permissions/suggest.ts'
export { openPool } from './pool.ts'
export { hasRoomForConnection, hasRoomForTurn } from './process.ts'
export { treeMemory } from './process-table.ts'
export { type Confinement, createProfiles } from './profiles.ts'
export { type Asking, createRequests } from './requests.ts'
export { type Cooldowns, createRoutes, openCooldowns, type Route } from './route.ts'
export { createSteering, type Steering } from './steering.ts'
export { openSubAgents } from './subagents.ts'
export { createTempDirs, type TempDirs } from './temp-dirs.ts'
export { type InstalledCli, installedClis } from './tested-versions.ts'
export { createTurns } from './turn.ts'
export { findWall, type Wall } from './wall.ts'
