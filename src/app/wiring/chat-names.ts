// Which chats are on.
import { remoteChats, webchatName } from '../../chat/index.ts'
import type { Config } from '../../config/index.ts'

/** The chats on external platforms. */
export const remoteChatsOn = (config: Config) => Object.values(remoteChats).filter(chat => chat.isOn(config))

/** The chats that are on. The first is the default if none is named. */
export function chatNames(config: Config): readonly [string, ...string[]] {
  const [first = webchatName, ...others] = [...remoteChatsOn(config).map(({ name }) => name), webchatName]
  return [first, ...others]
}
