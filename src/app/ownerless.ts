// At first nobody is allowed to write, not even the owner. Tells how to change that.
import type { Config } from '../config/index.ts'

/** The remote chats, as long as nobody is allowed to use them. Empty otherwise. */
export function ownerlessChats(
  chats: readonly string[],
  gate: Config['views']['gate'],
  paired: boolean,
): readonly string[] {
  const { owners, users, roles, channels, guilds } = gate
  return paired || [owners, users, roles, channels, guilds].some(list => list.length > 0) ? [] : chats
}

export function howToBecomeOwner(ownerless: readonly string[]): string {
  if (ownerless.length === 0) return ''
  return `Nobody is allowed to write on ${ownerless.join(', ')} yet. To become the owner, write to the bot there; it answers with a code:

  npx aetheel pair approve CODE --owner

Or set OWNERS to your user id.

`
}
