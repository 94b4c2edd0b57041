// The message box: writes new messages and edits queued ones.

export const notConnected = 'Not connected. Try again once the gateway is back.'
const tooLate = 'That message is already being answered. Press Enter to send this as a new one.'

/**
 * @param {{
 *   say: (text: string) => void,
 *   hasFiles: () => boolean,
 *   filesBlocked: () => string | null,                 why the attachments prevent sending
 *   edit: (id: string, text: string) => string | null,   why the edit could not be sent
 *   editLast: () => void,
 *   stop: () => void,
 *   changed: () => void,                                 the text has changed
 * }} handlers
 * @param {(name: string) => HTMLElement} part
 * @param {AbortSignal} signal
 */
export const createComposer = (handlers, part, signal) => {
  const box = part('box')
  const form = part('composer')
  const hint = part('hint')
  const usualHint = hint.textContent
  /** @type {string | null} */
  let editing = null
  let put = '' // the text in the box before the edit

  const grow = () => {
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + 2}px`
  }
  const fill = text => {
    box.value = text
    grow()
  }
  const show = () => {
    part('editing').hidden = editing === null
    part('send').setAttribute('aria-label', editing === null ? 'Send' : 'Save edit')
    form.classList.toggle('is-editing', editing !== null)
    part('attach').disabled = editing !== null // an edit changes only the text
  }
  const leaveEditing = text => {
    editing = null
    fill(text)
    show()
    handlers.changed()
  }
  const startEditing = (id, text) => {
    if (editing === null) put = box.value
    editing = id
    fill(text)
    show()
  }
  const restoreText = text => {
    const before = other => (other.trim() === '' ? text : `${text}\n\n${other}`)
    if (editing === null) fill(before(box.value))
    else put = before(put)
    handlers.changed()
  }

  const submit = () => {
    const text = box.value.trim()
    hint.textContent = usualHint
    if (editing === null) {
      if (text === '' && !handlers.hasFiles()) return
      const why = handlers.filesBlocked()
      if (why !== null) {
        hint.textContent = why
        return
      }
      fill('')
      handlers.say(text)
      return
    }
    if (text === '') return
    const blockedBecause = handlers.edit(editing, text)
    if (blockedBecause === null) leaveEditing(put)
    else hint.textContent = blockedBecause
  }

  form.addEventListener('submit', event => {
    event.preventDefault()
    submit()
    box.focus()
  })
  box.addEventListener('input', grow)
  box.addEventListener('keydown', event => {
    if (event.isComposing) return // Enter confirms the input method’s suggestion
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      // A key held down would also send the text that was in the box before the edit.
      if (!event.repeat) submit()
    } else if (event.key === 'ArrowUp' && box.value === '' && editing === null) {
      event.preventDefault()
      handlers.editLast()
    }
  })
  const leaveByKey = event => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    // A drawer or dialog over the chat handles Escape itself.
    if (form.closest('[inert]') !== null || document.querySelector('dialog[open]') !== null) return
    if (editing !== null) leaveEditing(put)
    else handlers.stop()
  }
  document.addEventListener('keydown', leaveByKey, { signal })
  part('edit-discard').addEventListener('click', () => {
    leaveEditing(put)
    box.focus()
  })
  part('stop').addEventListener('click', handlers.stop)

  return {
    focus: () => box.focus(),
    startEditing(id, text) {
      startEditing(id, text)
      box.focus()
      box.setSelectionRange(text.length, text.length)
    },
    /** After a reload or reconnect. By now the message may be running, or already have this text. */
    resumeEditing(edit, turn) {
      if (turn?.text === edit.text) return
      if (turn?.state === 'waiting' && editing === null) startEditing(edit.id, edit.text)
      else {
        restoreText(edit.text)
        hint.textContent = tooLate
      }
    },
    /** The edited message is no longer queued: the text stays in the box as a new message. */
    tooLateFor(id) {
      if (editing !== id) return
      leaveEditing(box.value)
      hint.textContent = tooLate
    },
    /** The text of the new message. */
    text: () => (editing === null ? box.value : put),
    /** The edit in progress of a queued message. */
    edit: () => (editing === null ? null : { id: editing, text: box.value }),
    write: fill,
    /** Puts a text that was not sent back into the box, before what is there. */
    restoreText,
    editing: () => editing,
    notify(words) {
      hint.textContent = words
    },
    reset() {
      hint.textContent = usualHint
      if (editing !== null) leaveEditing(put)
    },
  }
}
