// One turn of one agent.
export { chooseBackend } from './backends/index.ts'
export { openPool, type Pool } from './pool.ts'
export { treeMemory } from './proc.ts'
export { killEverything } from './process.ts'
export { openScratch, type Scratch } from './scratch.ts'
export { endStrays } from './strays.ts'
export { cutOff, openTurns } from './turn.ts'
