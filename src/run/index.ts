// One turn of one agent.
export { chooseBackend } from './backends/index.ts'
export { killEverything } from './process.ts'
export { openScratch } from './scratch.ts'
export { endStrays } from './strays.ts'
export { cutOff, openTurns } from './turn.ts'
