// Creates elements. Children are always text or nodes; only markdown.js produces markup.

/**
 * @param {string} tag
 * @param {Record<string, string | boolean | ((event: Event) => void)>} [attributes] functions are listeners
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export const el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (typeof value === 'boolean') element.toggleAttribute(name, value)
    else element.setAttribute(name, value)
  }
  element.append(...children)
  return element
}

/** Copies text, even when the page is not a secure context and has no clipboard API (plain HTTP on a local network). */
export const copyText = async text => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = el('textarea', { class: 'unseen', 'aria-hidden': 'true' })
  area.value = text
  // Nothing behind an open dialog can be selected.
  const place = document.querySelector('dialog[open]') ?? document.body
  const before = document.activeElement
  place.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  before?.focus()
  if (!done) throw new Error('the browser denied access to the clipboard')
}

/** Announces something to screen readers. */
export const announce = (element, words) =>
  element.dispatchEvent(new CustomEvent('announce', { bubbles: true, detail: words }))

/** Puts announcements made inside `place` into the live region `speaker`. */
export const createAnnouncer = (place, speaker, signal) => {
  let timer = 0
  const say = ({ detail }) => {
    clearTimeout(timer)
    speaker.textContent = detail
    // Cleared, so that the same text is announced again.
    timer = setTimeout(() => speaker.replaceChildren(), 1500)
  }
  place.addEventListener('announce', say, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
}

/** A button that copies text and confirms it. */
export const copyButton = (label, textOf) => {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': label }, 'Copy')
  button.addEventListener('click', async () => {
    try {
      await copyText(textOf())
      button.textContent = 'Copied'
    } catch {
      button.textContent = 'Copy failed' // the browser denied access to the clipboard
    }
    announce(button, button.textContent)
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
  return button
}
