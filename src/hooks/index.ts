// The public interface of hooks/: webhooks, lifecycle hooks, boot instructions, and the ipc/outbound folder.

export { triggersIn } from './entry.ts'
export { createBootTask, createLifecycle, type Lifecycle, readHooks } from './lifecycle.ts'
export { createOutbound } from './outbound.ts'
export { createWebhooks, readWebhooks } from './webhooks.ts'
