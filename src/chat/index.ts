// Where people speak. To be listed here is to be tested by test/contracts/chat.
export { openWebchat, type Webchat, type WebchatParts } from './webchat.ts'
