// Attachments of the next message: chosen, dropped or pasted, uploaded right away, listed above the message box, removable.
import { el } from './dom.js'
import { fileView, sizeOf, uploadLink } from './files.js'

const mostFiles = 10
const mostBytes = 25 * 1024 * 1024

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   place: HTMLElement,
 *   conversation: () => string | null,
 *   notify: (words: string) => void,
 *   changed: () => void,
 *   uploadedLate: (conversation: string, uploaded: object) => void,     the upload finished after another conversation was opened
 * }} options
 * @param {AbortSignal} signal
 */
export const createAttachments = ({ part, place, conversation, notify, changed, uploadedLate }, signal) => {
  const strip = part('attached')
  const input = part('files')
  /** @type {{ name: string, bytes: number, uploaded: object | null, why: string | null, view: HTMLElement, upload: XMLHttpRequest | null }[]} */
  let items = []
  /** Unfinished or failed uploads of other conversations; shown again when their conversation is opened. */
  let away = []

  const show = () => {
    strip.replaceChildren(...items.map(({ view }) => view))
    strip.hidden = items.length === 0
    changed()
  }
  const drop = item => {
    const at = items.indexOf(item)
    if (at < 0) return
    item.upload?.abort()
    items = items.filter(one => one !== item)
    show()
    const next = items[Math.min(at, items.length - 1)]
    ;(next?.view.querySelector('.remove') ?? part('attach')).focus()
  }

  /** Redraws an item: uploading, ready or failed. */
  const draw = (item, ...rest) => {
    const remove = el(
      'button',
      { type: 'button', class: 'remove', 'aria-label': `Remove ${item.name}`, click: () => drop(item) },
      '×',
    )
    item.view.replaceChildren(...rest, remove)
  }
  const drawReady = item => {
    const { id, name, bytes } = item.uploaded
    draw(item, fileView({ name, bytes, href: uploadLink(item.conversation, id) }))
  }
  const drawFailed = item => {
    const again = el('button', { type: 'button', class: 'link-button', click: () => begin(item) }, 'Try again')
    const words = el('span', { class: 'why', role: 'alert' }, `${item.name}: ${item.why}`)
    draw(item, words, ...(item.file ? [again] : []))
  }

  const begin = item => {
    const progress = el('progress', { max: '1', value: '0', 'aria-label': `Uploading ${item.name}` })
    draw(
      item,
      el('span', { class: 'file' }, el('bdi', {}, item.name), el('span', { class: 'size' }, sizeOf(item.bytes))),
      progress,
    )
    item.why = null
    if (item.conversation === null) return // uploaded once the gateway has named the conversation
    const upload = new XMLHttpRequest() // fetch reports no upload progress
    item.upload = upload
    const ended = (uploaded, why) => {
      item.upload = null
      item.uploaded = uploaded
      item.why = why
      if (signal.aborted || !items.includes(item)) {
        if (uploaded === null) drawFailed(item)
        else {
          away = away.filter(one => one !== item)
          uploadedLate(item.conversation, uploaded)
        }
        return
      }
      if (uploaded === null) drawFailed(item)
      else drawReady(item)
      changed()
    }
    upload.upload.addEventListener('progress', ({ loaded, total }) => {
      progress.value = total > 0 ? loaded / total : 0
    })
    upload.addEventListener('load', () => {
      const body = parsed(upload.responseText)
      if (upload.status === 201 && typeof body?.attachment?.id === 'string') ended(body.attachment, null)
      else ended(null, body?.error ?? `upload failed (${upload.status}).`)
    })
    upload.addEventListener('error', () => ended(null, 'upload failed, cannot reach the gateway.'))
    const query = new URLSearchParams({ conversation: item.conversation, name: item.name })
    upload.open('POST', `/api/attachments?${query}`)
    upload.send(item.file)
  }

  /** @param {Iterable<File>} files */
  const add = files => {
    const to = conversation()
    for (const file of files) {
      if (items.length >= mostFiles) {
        notify(`You can attach at most ${mostFiles} files to a message.`)
        break
      }
      const item = {
        name: file.name || 'file',
        bytes: file.size,
        file,
        conversation: to,
        uploaded: null,
        why: null,
        upload: null,
        view: el('li', {}),
      }
      items.push(item)
      if (file.size > mostBytes) {
        item.file = null
        item.why = 'too large (25 MB at most).'
        drawFailed(item)
      } else begin(item)
    }
    show()
  }

  part('attach').addEventListener('click', () => input.click())
  input.addEventListener('change', () => {
    add(input.files)
    input.value = '' // so that the same file can be chosen again
    part('box').focus()
  })
  part('box').addEventListener('paste', event => {
    const { files, types } = event.clipboardData
    // Text copied from a word processor also carries an image of that text.
    if (files.length === 0 || types.includes('text/plain')) return
    event.preventDefault()
    add(files)
  })

  const hasFiles = event => event.dataTransfer?.types.includes('Files') === true
  const setDropping = over => place.classList.toggle('dropping', over)
  place.addEventListener(
    'dragover',
    event => {
      if (!hasFiles(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      setDropping(true)
    },
    { signal },
  )
  place.addEventListener('dragleave', event => place.contains(event.relatedTarget) || setDropping(false), { signal })
  place.addEventListener(
    'drop',
    event => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setDropping(false)
      const dropped = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file')
      const isFolder = one => one.webkitGetAsEntry?.()?.isDirectory === true
      if (dropped.some(isFolder)) notify('Folders cannot be attached. Pack the folder into an archive first.')
      add(dropped.filter(one => !isFolder(one)).map(one => one.getAsFile()))
      part('box').focus()
    },
    { signal },
  )

  return {
    /** Why the message cannot be sent yet; null: it can. */
    blockedBecause() {
      if (items.some(({ why }) => why !== null)) return 'A file could not be uploaded. Remove it or try again.'
      return items.some(({ uploaded }) => uploaded === null) ? 'Files are still uploading.' : null
    },
    /** The gateway has named the conversation: starts the uploads that waited for it. */
    named() {
      for (const item of items.filter(one => one.conversation === null)) {
        item.conversation = conversation()
        if (item.why === null) begin(item)
      }
    },
    isEmpty: () => items.length === 0,
    ready: () => items.flatMap(({ uploaded }) => uploaded ?? []),
    /** Shows the attachments of another draft, or none. Unfinished uploads stay with their own conversation. */
    replace(uploads) {
      const to = conversation()
      const unfinished = [...away, ...items].filter(item => item.uploaded === null && item.conversation !== null)
      away = unfinished.filter(item => item.conversation !== to)
      const ready = uploads.map(uploaded => {
        const { name, bytes } = uploaded
        const item = {
          name,
          bytes,
          file: null,
          conversation: to,
          uploaded,
          why: null,
          upload: null,
          view: el('li', {}),
        }
        drawReady(item)
        return item
      })
      items = [...ready, ...unfinished.filter(item => item.conversation === to)]
      show()
    },
  }
}

const parsed = text => {
  try {
    return JSON.parse(text)
  } catch {
    return null // a proxy may answer with an HTML page
  }
}
