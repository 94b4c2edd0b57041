// Files for the next message: chosen, dropped or pasted, uploaded at once, shown above the box and taken away again.
import { el } from './dom.js'
import { fileView, sizeOf, uploadLink } from './files.js'

const mostFiles = 10
const mostBytes = 25 * 1024 * 1024

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   place: HTMLElement,
 *   conversation: () => string | null,
 *   tell: (words: string) => void,
 *   changed: () => void,
 *   late: (conversation: string, uploaded: object) => void,     it came when another conversation was open already
 * }} options
 * @param {AbortSignal} signal
 */
export const openAttach = ({ part, place, conversation, tell, changed, late }, signal) => {
  const strip = part('attached')
  const input = part('files')
  /** @type {{ name: string, bytes: number, uploaded: object | null, why: string | null, view: HTMLElement, upload: XMLHttpRequest | null }[]} */
  let items = []
  /** Of other conversations, on their way or failed; there again once one comes back. */
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

  /** Uploading, ready or failed: each looks its own way. */
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
    if (item.conversation === null) return // it goes once the conversation has a name
    const upload = new XMLHttpRequest() // fetch does not tell how far it is
    item.upload = upload
    const ended = (uploaded, why) => {
      item.upload = null
      item.uploaded = uploaded
      item.why = why
      if (signal.aborted || !items.includes(item)) {
        if (uploaded === null) drawFailed(item)
        else {
          away = away.filter(one => one !== item)
          late(item.conversation, uploaded)
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
      else ended(null, body?.error ?? `the gateway could not take it (${upload.status}).`)
    })
    upload.addEventListener('error', () => ended(null, 'not uploaded, the gateway cannot be reached.'))
    const query = new URLSearchParams({ conversation: item.conversation, name: item.name })
    upload.open('POST', `/api/attachments?${query}`)
    upload.send(item.file)
  }

  /** @param {Iterable<File>} files */
  const add = files => {
    const to = conversation()
    for (const file of files) {
      if (items.length >= mostFiles) {
        tell(`At most ${mostFiles} files go with one message.`)
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
        item.why = 'too large, a file may have 25 MB.'
        drawFailed(item)
      } else begin(item)
    }
    show()
  }

  part('attach').addEventListener('click', () => input.click())
  input.addEventListener('change', () => {
    add(input.files)
    input.value = '' // the same one may be chosen again
    part('box').focus()
  })
  part('box').addEventListener('paste', event => {
    const { files, types } = event.clipboardData
    // What a text program copies has a picture of the text along.
    if (files.length === 0 || types.includes('text/plain')) return
    event.preventDefault()
    add(files)
  })

  const hasFiles = event => event.dataTransfer?.types.includes('Files') === true
  const setOver = over => place.classList.toggle('dropping', over)
  place.addEventListener(
    'dragover',
    event => {
      if (!hasFiles(event)) return
      event.preventDefault()
      event.dataTransfer.dropEffect = 'copy'
      setOver(true)
    },
    { signal },
  )
  place.addEventListener('dragleave', event => place.contains(event.relatedTarget) || setOver(false), { signal })
  place.addEventListener(
    'drop',
    event => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(false)
      const dropped = [...event.dataTransfer.items].filter(({ kind }) => kind === 'file')
      const isFolder = one => one.webkitGetAsEntry?.()?.isDirectory === true
      if (dropped.some(isFolder)) tell('A folder cannot be attached; pack it into a file first.')
      add(dropped.filter(one => !isFolder(one)).map(one => one.getAsFile()))
      part('box').focus()
    },
    { signal },
  )

  return {
    /** Why the message cannot go out yet; null: nothing stands in the way. */
    hindrance() {
      if (items.some(({ why }) => why !== null)) return 'A file could not be uploaded: remove it, or try again.'
      return items.some(({ uploaded }) => uploaded === null) ? 'The files are still on their way.' : null
    },
    /** The gateway has named the conversation. */
    named() {
      for (const item of items.filter(one => one.conversation === null)) {
        item.conversation = conversation()
        if (item.why === null) begin(item)
      }
    },
    isEmpty: () => items.length === 0,
    ready: () => items.flatMap(({ uploaded }) => uploaded ?? []),
    /** Others instead: those of another draft, or none. What is still on its way stays with its own. */
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
    return null // a proxy may answer with a page
  }
}
