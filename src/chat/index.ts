// Where people speak. To be listed here is to be tested by test/contracts/chat.contract.test.ts.
import type { DiscordParts } from './discord/adapter.ts'
import { openWebchat } from './webchat.ts'

export { lookAtDiscord } from './discord/look.ts'
export { openUploads } from './uploads.ts'

export const chats = {
  webchat: openWebchat,
  /** Its libraries are loaded only when it is on. */
  discord: async (parts: DiscordParts) => (await import('./discord/adapter.ts')).openDiscord(parts),
}
