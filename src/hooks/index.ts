// The front door: what programs and the life of the gateway itself bring, and what the agent says unasked.
export { readHooks } from './lifecycle.ts'
export { openOutbound } from './outbound.ts'
export { openWebhooks, readWebhooks } from './webhooks.ts'
