// The message box: writes new messages and edits waiting ones.

export const notConnected = 'Not connected: this cannot be changed right now.'
const tooLate = 'That message is being answered already. Enter sends this as a new one.'

/**
 * @param {{
 *   say: (text: string) => void,
 *   hasFiles: () => boolean,
 *   filesHindrance: () => string | null,                 why the files keep the message from going out
 *   edit: (id: string, text: string) => string | null,   why it could not be sent
 *   editLast: () => void,
 *   stop: () => void,
 *   changed: () => void,                                 what is being written
 * }} asked
 * @param {(name: string) => HTMLElement} part
 * @param {AbortSignal} signal
 */
export const openComposer = (asked, part, signal) => {
  const box = part('box')
  const form = part('composer')
  const hint = part('hint')
  const usualHint = hint.textContent
  /** @type {string | null} */
  let editing = null
  let put = '' // what stood in the box before the edit

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
    part('send').setAttribute('aria-label', editing === null ? 'Send' : 'Save the change')
    form.classList.toggle('is-editing', editing !== null)
    part('attach').disabled = editing !== null // an edit changes the words alone
  }
  const leaveEditing = text => {
    editing = null
    fill(text)
    show()
    asked.changed()
  }
  const startEditing = (id, text) => {
    if (editing === null) put = box.value
    editing = id
    fill(text)
    show()
  }
  const putBack = text => {
    const before = other => (other.trim() === '' ? text : `${text}\n\n${other}`)
    if (editing === null) fill(before(box.value))
    else put = before(put)
    asked.changed()
  }

  const submit = () => {
    const text = box.value.trim()
    hint.textContent = usualHint
    if (editing === null) {
      if (text === '' && !asked.hasFiles()) return
      const why = asked.filesHindrance()
      if (why !== null) {
        hint.textContent = why
        return
      }
      fill('')
      asked.say(text)
      return
    }
    if (text === '') return
    const hindrance = asked.edit(editing, text)
    if (hindrance === null) leaveEditing(put)
    else hint.textContent = hindrance
  }

  form.addEventListener('submit', event => {
    event.preventDefault()
    submit()
    box.focus()
  })
  box.addEventListener('input', grow)
  box.addEventListener('keydown', event => {
    if (event.isComposing) return // Enter chooses a word of the input method
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      // One that is held down would also send what was being written before an edit.
      if (!event.repeat) submit()
    } else if (event.key === 'ArrowUp' && box.value === '' && editing === null) {
      event.preventDefault()
      asked.editLast()
    }
  })
  const leaveByKey = event => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    // What lies over the chat has the key to itself.
    if (form.closest('[inert]') !== null || document.querySelector('dialog[open]') !== null) return
    if (editing !== null) leaveEditing(put)
    else asked.stop()
  }
  document.addEventListener('keydown', leaveByKey, { signal })
  part('edit-discard').addEventListener('click', () => {
    leaveEditing(put)
    box.focus()
  })
  part('stop').addEventListener('click', asked.stop)

  return {
    focus: () => box.focus(),
    startEditing(id, text) {
      startEditing(id, text)
      box.focus()
      box.setSelectionRange(text.length, text.length)
    },
    /** After a reload or a break; the message may have got its turn meanwhile, or have been changed to just that. */
    goOnEditing(edit, turn) {
      if (turn?.text === edit.text) return
      if (turn?.state === 'waiting' && editing === null) startEditing(edit.id, edit.text)
      else {
        putBack(edit.text)
        hint.textContent = tooLate
      }
    },
    /** The message under edit is no longer waiting: what was written stays, as a new message. */
    tooLateFor(id) {
      if (editing !== id) return
      leaveEditing(box.value)
      hint.textContent = tooLate
    },
    /** What is being written as a new message. */
    text: () => (editing === null ? box.value : put),
    /** What a waiting message shall become. */
    edit: () => (editing === null ? null : { id: editing, text: box.value }),
    write: fill,
    /** What did not get through, before what is being written if there is any. */
    putBack,
    editing: () => editing,
    tell(words) {
      hint.textContent = words
    },
    reset() {
      hint.textContent = usualHint
      if (editing !== null) leaveEditing(put)
    },
  }
}
