// The front door: what programs and the life of the gateway itself bring, and what the agent says unasked.

export { openCalls } from './calls.ts'
export { openDesk } from './desk.ts'
export { openEquipment } from './equip.ts'
export { readHooks } from './lifecycle.ts'
export { openOutbound } from './outbound.ts'
export { openTools, type ToolPorts } from './tools/index.ts'
export { openWebhooks, readWebhooks } from './webhooks.ts'
