// The components that every page uses. Text is always set as text, never as markup.
import htm from 'htm'
import { h } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { fromNow, wholeDate } from './format.js'

export const html = htm.bind(h)

const styles = new Map()
/** Loads a stylesheet once; resolves when it applies. */
export const addStyles = path => {
  if (!styles.has(path)) styles.set(path, linked(path))
  return styles.get(path)
}

const linked = path =>
  new Promise((resolve, reject) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = path
    link.onload = resolve
    link.onerror = () => {
      link.remove()
      styles.delete(path) // so that it can be loaded again
      reject(new Error(`${path} could not be loaded`))
    }
    document.head.append(link)
  })

/** The header of a page: title, description and actions. */
export const Head = ({ title, about, children }) => html`
  <header class="head">
    <div><h1 tabindex="-1">${title}</h1>${about && html`<p class="quiet">${about}</p>`}</div>
    ${children && html`<div class="acts">${children}</div>`}
  </header>`

export const Card = ({ title, more, class: name = '', children }) => html`
  <section class="card ${name}" aria-label=${title}>
    ${title && html`<div class="card-head"><h2>${title}</h2>${more}</div>`}
    ${children}
  </section>`

/** @param {{ tone?: 'good' | 'bad' | 'busy' | 'plain' }} props */
export const Badge = ({ tone = 'plain', children }) => html`<span class="badge ${tone}">${children}</span>`

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`

export const Skeleton = ({ rows = 3 }) => html`
  <div class="skeletons" aria-hidden="true">${Array.from({ length: rows }, () => html`<div class="skeleton"></div>`)}</div>`

export const Notice = ({ trouble, retry }) => html`
  <div class="notice" role="alert">
    <span>${trouble.message}</span>
    ${retry && html`<button type="button" class="link-button" onClick=${retry}>Try again</button>`}
  </div>`

/** A resource: a skeleton until it is loaded, an error if that fails, else the children with the data. */
export const Loaded = ({ answer, rows, children }) => {
  const { data, trouble, load } = answer
  // A lost connection already has a banner.
  const notice = trouble !== null && (data === null || trouble.status !== 0)
  return html`
    ${notice && html`<${Notice} trouble=${trouble} retry=${load} />`}
    ${data === null ? trouble === null && html`<${Skeleton} rows=${rows} />` : children(data)}`
}

/** `now` only makes it render again; an entry that has just arrived may be newer than that. */
export const Ago = ({ at, now }) =>
  html`<time dateTime=${new Date(at).toISOString()} title=${wholeDate(at)}>${fromNow(at, Math.max(now, Date.now()))}</time>`

/** A lane, with its source set apart: `discord` · 123. */
export const Lane = ({ lane }) => {
  const colon = lane.indexOf(':')
  return colon < 0
    ? html`<span class="lane">${lane}</span>`
    : html`<span class="lane"><span class="source">${lane.slice(0, colon)}</span> ${lane.slice(colon + 1)}</span>`
}

/**
 * Rows that become cards where there is no room; the roles keep it a table for screen readers then.
 * @param {{ label: string, columns: { title: string, cell: (row: any) => any, number?: boolean, unseen?: boolean }[], rows: any[], keyOf: (row: any) => string }} props
 */
export const Table = ({ label, columns, rows, keyOf }) => html`
  <table class="table" role="table" aria-label=${label}>
    <thead role="rowgroup"><tr role="row">
      ${columns.map(
        ({ title, number, unseen }) => html`
          <th role="columnheader" scope="col" class=${number ? 'number' : ''}><span class=${unseen ? 'unseen' : ''}>${title}</span></th>`,
      )}
    </tr></thead>
    <tbody role="rowgroup">
      ${rows.map(
        row => html`<tr role="row" key=${keyOf(row)}>
          ${columns.map(
            ({ title, cell, number, unseen }) => html`
              <td role="cell" class=${number ? 'number' : ''} data-label=${unseen ? undefined : title}>${cell(row)}</td>`,
          )}
        </tr>`,
      )}
    </tbody>
  </table>`

/** A button for an asynchronous action: disabled while it runs, then a toast with the result or the error. */
export const ActionButton = ({ run, done, class: name = 'button', children, ...rest }) => {
  const [busy, setBusy] = useState(false)
  const here = useRef(true)
  const button = useRef(null)
  useLayoutEffect(() => {
    const drawn = button.current
    return () => {
      here.current = false
      // Removed together with its row: the focus must not get lost.
      if (document.activeElement === drawn) setTimeout(focusHeading)
    }
  }, [])
  const click = async () => {
    if (busy) return
    setBusy(true)
    try {
      const result = await run()
      const words = typeof done === 'function' ? done(result) : done
      if (words && result !== false) toast(words)
    } catch (trouble) {
      toast(trouble.message, 'bad')
    }
    if (here.current) setBusy(false)
  }
  // Not `disabled`, which would drop the focus.
  return html`<button ref=${button} type="button" class=${name} aria-disabled=${busy ? 'true' : undefined} onClick=${click} ...${rest}>${children}</button>`
}

/** If the focus is lost, puts it on the heading. */
export const focusHeading = () => {
  if (document.activeElement === document.body) document.querySelector('#page h1')?.focus({ preventScroll: true })
}

let toastTimer = 0
/**
 * Shows a short message, also to screen readers.
 * @param {string} words @param {'good' | 'bad'} [tone]
 * @param {{ label: string, run: () => unknown }} [act] an action offered while it is shown
 */
export const toast = (words, tone = 'good', act) => {
  const place = document.getElementById('toast')
  place.textContent = words
  if (act) place.append(toastButton(place, act))
  place.dataset.tone = tone
  place.classList.add('shown')
  const leave = () => {
    // Stays while the pointer or the focus is on it.
    if (place.matches(':hover, :focus-within')) toastTimer = setTimeout(leave, 2000)
    else place.classList.remove('shown')
  }
  clearTimeout(toastTimer)
  toastTimer = setTimeout(leave, act ? 10_000 : tone === 'bad' ? 8000 : 4000)
}

const toastButton = (place, { label, run }) => {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = label
  button.addEventListener('click', async () => {
    button.remove()
    focusHeading()
    place.classList.remove('shown')
    try {
      await run()
    } catch (trouble) {
      toast(trouble.message, 'bad')
    }
  })
  return button
}

/** A dialog that is open as long as it is rendered. */
export const Dialog = ({ label, onClose, class: name = '', children }) => {
  const ref = useRef(null)
  // Before the paint: the next key press belongs to the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    const goBack = () => {
      // After Escape the browser has already moved the focus back, and the owner may have moved it since.
      const { activeElement } = document
      if (activeElement !== document.body && !dialog.contains(activeElement)) return
      // The element may be gone, together with its row.
      if (before?.isConnected) before.focus()
      else document.getElementById('main').focus()
    }
    dialog.showModal()
    // Only after the dialog is removed can anything else have the focus.
    return () => queueMicrotask(goBack)
  }, [])
  // Selecting text and releasing the button outside must not close it.
  const pressed = useRef(null)
  const outside = event => event.target === ref.current && pressed.current === ref.current && onClose()
  return html`
    <dialog ref=${ref} class="dialog ${name}" aria-label=${label} onClose=${onClose} onPointerDown=${event => (pressed.current = event.target)} onClick=${outside}>
      <div class="dialog-inner">${children}</div>
    </dialog>`
}

let askOver = null
/** Resolves with whether the owner agreed. */
export const confirmed = question => new Promise(resolve => askOver({ ...question, resolve }))

/** Renders the confirmation dialogs; once per page. */
export const Confirm = () => {
  const [question, setQuestion] = useState(null)
  askOver = setQuestion
  if (question === null) return null
  const answer = agreed => {
    question.resolve(agreed)
    setQuestion(null)
  }
  return html`
    <${Dialog} label=${question.title} onClose=${() => answer(false)}>
      <h2>${question.title}</h2>
      <p>${question.text}</p>
      <div class="acts end">
        <button type="button" class="button" onClick=${() => answer(false)}>Cancel</button>
        <button type="button" class="button ${question.mild ? 'primary' : 'danger'}" onClick=${() => answer(true)}>${question.action}</button>
      </div>
    </${Dialog}>`
}

/** Resolves with whether the text was copied. */
export const copied = async text => {
  try {
    const { copyText } = await import('../chat/dom.js')
    await copyText(text)
    return true
  } catch {
    return false
  }
}

/** Shows the result itself: a toast would be hidden behind an open dialog. */
export const CopyButton = ({ text, label }) => {
  const [result, setResult] = useState('')
  const copy = async () => {
    setResult((await copied(text)) ? 'Copied' : 'Copy failed')
    setTimeout(() => setResult(''), 1500)
  }
  return html`<button type="button" class="copy" aria-label=${label} onClick=${copy}>${result || 'Copy'}</button><span class="unseen" role="status">${result}</span>`
}
