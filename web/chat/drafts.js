// The draft of each conversation (text, attachments, the edit of a queued message), which survives a reload.
import { draftOf, rememberChat, saveDraft } from './storage.js'

const pauseMs = 400

/** An upload finished after another conversation was opened: adds it to the draft of its own. */
export const addToDraft = (id, uploaded) => {
  const draft = draftOf(id)
  saveDraft(id, { ...draft, attachments: [...draft.attachments, uploaded] })
}

/**
 * @param {{
 *   composer: {
 *     text: () => string, write: (text: string) => void,
 *     edit: () => { id: string, text: string } | null, resumeEditing: (edit: { id: string, text: string }, turn: any) => void,
 *   },
 *   attach: { ready: () => any[], replace: (attachments: any[]) => void },
 *   box: HTMLElement,
 *   conversation: () => string | null,
 *   isNew: () => boolean,
 *   newId: () => string,
 * }} options
 * @param {AbortSignal} signal
 */
export const createDrafts = ({ composer, attach, box, conversation, isNew, newId }, signal) => {
  let timer = 0
  /** An edit that was restored, or unconfirmed when the connection broke; waits for the state of its message. */
  let pendingEdit = null
  /** The draft as this window last saved it; another window may have saved since. */
  let known = ''

  const save = () => {
    clearTimeout(timer)
    const text = composer.text()
    const attachments = attach.ready()
    const isBlank = text.trim() === '' && attachments.length === 0
    if (conversation() === null && isBlank) return
    // A conversation the gateway has not named yet gets its name here.
    const id = conversation() ?? newId()
    const draft = { text, attachments, edit: composer.edit() ?? pendingEdit }
    if (JSON.stringify(draft) === known) return
    known = JSON.stringify(draft)
    saveDraft(id, draft)
    // The gateway does not know it yet, so it would be missing from the list.
    if (!isBlank && isNew()) rememberChat(id, text.trim() || attachments[0].name)
  }
  const saveSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(() => conversation() !== null && save(), pauseMs)
  }
  box.addEventListener('input', saveSoon)
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    /** Called before another conversation is opened. */
    save,
    saveSoon,
    /** @param {{ id: string, text: string }} edit it is unknown whether it reached the gateway */
    holdEdit(edit) {
      pendingEdit = edit
      saveSoon()
    },
    restore() {
      const id = conversation()
      const { text, attachments, edit } = id === null ? { text: '', attachments: [], edit: null } : draftOf(id)
      composer.write(text)
      attach.replace(attachments)
      pendingEdit = edit
      known = JSON.stringify({ text, attachments, edit })
    },
    /** The history has arrived. @param {(id: string) => any} find the turn of a message */
    onHistory(find) {
      const edit = pendingEdit
      pendingEdit = null
      if (edit !== null) composer.resumeEditing(edit, find(edit.id))
    },
  }
}
