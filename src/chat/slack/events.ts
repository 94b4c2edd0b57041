// Routes the envelopes of Socket Mode to the parts that handle them.
import type { createClicks, ViewPayload } from './clicks.ts'
import type { Directory } from './directory.ts'
import type { Inbound } from './inbound.ts'
import type { ActionPayload, createInteractions, SlashPayload } from './interactions.ts'
import type { MessageSeen } from './message.ts'
import type { Envelope } from './socket.ts'

export interface EventParts {
  readonly inbound: Inbound
  readonly interactions: Pick<ReturnType<typeof createInteractions>, 'slash' | 'action'>
  readonly clicks: ReturnType<typeof createClicks>
  readonly directory: Directory
  /** The app was removed from the workspace. */
  revoked(): void
}

interface EventSeen extends MessageSeen {
  readonly type: string
  readonly message?: MessageSeen
  readonly previous_message?: MessageSeen
  readonly deleted_ts?: string
}

const renamed = ['channel_rename', 'group_rename', 'user_change']

/** Each resolves when it is handled. False: Slack must send it again. */
export function createEvents({ inbound, interactions, clicks, directory, revoked }: EventParts) {
  return async ({ type, payload }: Envelope): Promise<boolean> => {
    switch (type) {
      case 'slash_commands':
        return interactions.slash(payload as SlashPayload)
      case 'interactive':
        return (
          clicks.submission(payload as ViewPayload) ??
          clicks.action(payload as ActionPayload) ??
          interactions.action(payload as ActionPayload)
        )
      case 'events_api':
        return onEvent((payload as { readonly event: EventSeen }).event)
      default:
        return true
    }
  }

  async function onEvent(event: EventSeen): Promise<boolean> {
    const { type } = event
    if (type === 'tokens_revoked' || type === 'app_uninstalled') revoked()
    if (renamed.includes(type)) forget(event)
    if (type === 'app_mention') return inbound.message(event)
    return type === 'message' ? onMessage(event) : true
  }

  async function onMessage(event: EventSeen): Promise<boolean> {
    const { subtype, channel, message, previous_message, deleted_ts } = event
    if (subtype === 'message_deleted') return deleted_ts === undefined || inbound.deleted(channel, deleted_ts)
    if (subtype !== 'message_changed') return inbound.message(event)
    if (!message) return true
    // What remains of a deleted message that has a thread.
    if (message.subtype === 'tombstone') return inbound.deleted(channel, message.ts)
    // Slack also sends this for link previews; then nobody has edited anything.
    if (message.edited === undefined || message.text === previous_message?.text) return true
    return inbound.edited({ ...message, channel })
  }

  function forget(event: object): void {
    for (const one of Object.values(event) as unknown[])
      if (typeof one === 'object' && one !== null && 'id' in one) directory.forget(String(one.id))
  }
}
