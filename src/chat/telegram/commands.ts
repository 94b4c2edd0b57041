// The commands in Telegram's menu: converted from the command table, and set only when they have changed.
import { createHash } from 'node:crypto'
import type { Api } from 'grammy'
import type { BotCommand } from 'grammy/types'
import type { ChatMemory } from '../../base/chat.ts'
import type { CommandShape } from '../../base/chat-module.ts'
import { excerpt } from '../../base/scrub.ts'
import { troubleOf } from './errors.ts'

/** Telegram allows a hundred, of lowercase letters, digits and underscores, with descriptions of up to 256 characters. */
export const menuOf = (table: readonly CommandShape[]): BotCommand[] =>
  table
    .flatMap(({ names, takes, about }) =>
      names.map(command => ({ command, description: excerpt(takes === null ? about : `${takes}: ${about}`, 256) })),
    )
    .filter(({ command, description }) => /^[a-z0-9_]{1,32}$/.test(command) && description !== '')
    .slice(0, 100)

/** Never rejects. */
export async function setMenu(
  api: Api,
  memory: ChatMemory,
  bot: number,
  menu: readonly BotCommand[],
  trouble: (why: string) => void,
): Promise<void> {
  const hash = `${bot} ${createHash('sha256').update(JSON.stringify(menu)).digest('hex')}`
  if (menu.length === 0 || memory.get('commands') === hash) return
  try {
    await api.setMyCommands([...menu])
    memory.put('commands', hash)
  } catch (error) {
    trouble(`the commands could not be put into the menu: ${troubleOf(error).why}`)
  }
}
