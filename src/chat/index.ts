// The chats. Every chat listed here is tested by test/contracts/chat.contract.test.ts.
import type { RemoteChat } from '../base/remote-chats.ts'
import { discord } from './discord/index.ts'
import { slack } from './slack/index.ts'
import { telegram } from './telegram/index.ts'

export { createUploads } from './uploads.ts'
export { createWebchat, webchatName } from './webchat.ts'

/** The chats on remote platforms, each in its folder. The first enabled one is the default for a place that names no chat. */
export const remoteChats = { discord, telegram, slack } satisfies Record<RemoteChat, object>
