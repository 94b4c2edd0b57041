// Each conversation keeps what was being written in it, words, files and the change of a waiting message, also over a reload.
import { draftOf, keepDraft, rememberChat } from './kept.js'

const pauseMs = 400

/** A file arrived when another conversation was open already. */
export const keepUpload = (id, uploaded) => {
  const draft = draftOf(id)
  keepDraft(id, { ...draft, attachments: [...draft.attachments, uploaded] })
}

/**
 * @param {{
 *   composer: {
 *     text: () => string, write: (text: string) => void,
 *     edit: () => { id: string, text: string } | null, goOnEditing: (edit: { id: string, text: string }, turn: any) => void,
 *   },
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
  /** Found here again, or not confirmed when the line broke: until the gateway has said how that message stands. */
  let owed = null
  /** As it is kept, for all that this window has done: another one may have written there since. */
  let known = ''

  const leave = () => {
    clearTimeout(timer)
    const text = composer.text()
    const attachments = attach.ready()
    const isBlank = text.trim() === '' && attachments.length === 0
    if (conversation() === null && isBlank) return
    // One that the gateway has not named yet gets a name from us.
    const id = conversation() ?? newId()
    const draft = { text, attachments, edit: composer.edit() ?? owed }
    if (JSON.stringify(draft) === known) return
    known = JSON.stringify(draft)
    keepDraft(id, draft)
    // The gateway does not know of it yet, so the list would not.
    if (!isBlank && isNew()) rememberChat(id, text.trim() || attachments[0].name)
  }
  const later = () => {
    clearTimeout(timer)
    timer = setTimeout(() => conversation() !== null && leave(), pauseMs)
  }
  box.addEventListener('input', later)
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    /** Puts it away; called before another conversation is opened. */
    leave,
    later,
    /** @param {{ id: string, text: string }} edit nobody knows whether it got through */
    owe(edit) {
      owed = edit
      later()
    },
    restore() {
      const id = conversation()
      const { text, attachments, edit } = id === null ? { text: '', attachments: [], edit: null } : draftOf(id)
      composer.write(text)
      attach.replace(attachments)
      owed = edit
      known = JSON.stringify({ text, attachments, edit })
    },
    /** @param {(id: string) => any} find the turn of a message, now that the gateway has told of them */
    told(find) {
      const edit = owed
      owed = null
      if (edit !== null) composer.goOnEditing(edit, find(edit.id))
    },
  }
}
