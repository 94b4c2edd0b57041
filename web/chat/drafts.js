// Each conversation keeps what was being written in it, words and files, also over a reload.
import { draftOf, keepDraft, rememberChat } from './kept.js'

const pauseMs = 400

/** A file arrived when another conversation was open already. */
export const keepUpload = (id, uploaded) => {
  const { text, attachments } = draftOf(id)
  keepDraft(id, { text, attachments: [...attachments, uploaded] })
}

/**
 * @param {{
 *   composer: { text: () => string | null, write: (text: string) => void },
 *   attach: { ready: () => any[], replace: (attachments: any[]) => void },
 *   box: HTMLElement,
 *   conversation: () => string | null,
 *   isNew: () => boolean,
 *   newId: () => string,
 * }} options
 * @param {AbortSignal} signal
 */
export const openDrafts = ({ composer, attach, box, conversation, isNew, newId }, signal) => {
  let timer = 0

  const leave = () => {
    clearTimeout(timer)
    const text = composer.text()
    const attachments = attach.ready()
    const isBlank = text?.trim() === '' && attachments.length === 0
    if (text === null || (conversation() === null && isBlank)) return
    // One that the gateway has not named yet gets a name from us.
    const id = conversation() ?? newId()
    keepDraft(id, { text, attachments })
    // The gateway does not know of it yet, so the list would not.
    if (!isBlank && isNew()) rememberChat(id, text.trim() || attachments[0].name)
  }
  const later = () => {
    clearTimeout(timer)
    timer = setTimeout(() => conversation() !== null && leave(), pauseMs)
  }
  box.addEventListener('input', later)
  addEventListener('pagehide', leave, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    /** Puts it away; called before another conversation is opened. */
    leave,
    later,
    restore() {
      const id = conversation()
      const { text, attachments } = id === null ? { text: '', attachments: [] } : draftOf(id)
      composer.write(text)
      attach.replace(attachments)
    },
  }
}
