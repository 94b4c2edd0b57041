// Where people speak. To be listed here is to be tested by test/contracts/chat.contract.test.ts.
import { openWebchat } from './webchat.ts'

export const chats = { webchat: openWebchat }
