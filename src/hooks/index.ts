// The public interface of hooks/: webhooks, lifecycle hooks, boot instructions, and the ipc/outbound folder.

export { createBootTask } from './boot.ts'
export { triggersIn } from './entry.ts'
export { createLifecycle, type Lifecycle, readHooks } from './lifecycle.ts'
export { createOutbound } from './outbound.ts'
export { createWebhooks, readWebhooks } from './webhooks.ts'
