// Nobody is let in at first, not even the owner: how to change that.
import type { Config } from './config.ts'

/** The chats that anybody can write to, as long as nobody at all may speak there. */
export function ownerlessChats(chats: readonly string[], gate: Config['gate'], paired: boolean): readonly string[] {
  const { owners, users, roles, channels, guilds } = gate
  return paired || [owners, users, roles, channels, guilds].some(list => list.length > 0) ? [] : chats
}

export function howToBecomeOwner(ownerless: readonly string[]): string {
  if (ownerless.length === 0) return ''
  return `Nobody may speak on ${ownerless.join(', ')} yet. To become the owner, write to the bot there; it answers with a code:

  npx aetheel pair approve CODE --owner

Or set OWNERS to your user id.

`
}
