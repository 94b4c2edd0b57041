// Live drafts: as Telegram's own drafts in private chats if the server has them, otherwise as a message that is edited.
import { type Api, GrammyError } from 'grammy'
import type { Place } from '../../base/event.ts'
import { createLiveDrafts, type Doing, type DraftParts, type Drafts } from '../live-drafts.ts'
import type { StopNotes } from '../stop-notes.ts'
import { isGroup, readConversation, readMessageId } from './conversation.ts'
import { troubleOf } from './errors.ts'
import { renderMarkdown } from './markdown.ts'
import { draftOf } from './render.ts'

/** In a group all messages and edits of a minute count, and the answer needs some of them. */
const everyMs = { alone: 1000, group: 4000 }

export const editEveryMs = everyMs.alone

export interface TelegramDraftParts extends Pick<DraftParts, 'clock' | 'held' | 'lost'> {
  readonly api: Api
  /** As a message with the Stop button. */
  writeMessage(place: Place, about: string, key: string, content: string): Promise<void>
  readonly stops: StopNotes
}

export function createDrafts({ api, writeMessage, stops, ...parts }: TelegramDraftParts): Drafts {
  /** Older servers do not have the method. */
  let hasDrafts = true
  const groupIn = ({ conversation }: Place) => isGroup(readConversation(conversation)?.chat ?? 0)

  async function write(place: Place, about: string, key: string, content: string, doing: Doing): Promise<void> {
    const message = readMessageId(about)
    if (hasDrafts && !groupIn(place) && message) {
      if (await writeDraft(message.chat, message.message, content)) return stops.drafted(place, about, key, doing)
      hasDrafts = false
    }
    await writeMessage(place, about, key, content)
  }

  /** The draft of a message has its number. False: the server does not know drafts. */
  async function writeDraft(chat: number, draft: number, content: string): Promise<boolean> {
    const { text, entities } = renderMarkdown(content)
    try {
      await api.sendMessageDraft(chat, draft, text, entities.length === 0 ? {} : { entities: [...entities] })
      return true
    } catch (error) {
      if (error instanceof GrammyError && [undefined, 400, 404].includes(error.error_code)) return false
      throw error
    }
  }

  return createLiveDrafts({
    ...parts,
    everyMs: place => (groupIn(place) ? everyMs.group : everyMs.alone),
    render: draftOf,
    trouble(error) {
      const found = troubleOf(error)
      return { afterMs: found.type === 'passing' ? found.afterMs : null, why: found.why }
    },
    write,
  })
}
