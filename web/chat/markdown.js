// Turns the agent’s Markdown into safe elements. Nothing it writes may run, load anything or pass for a part of this page.
import DOMPurify from '/vendor/dompurify.js'
import { Marked } from '/vendor/marked.js'
import { bounded } from './bounded.js'
import { copyButton, el } from './dom.js'

/** The language of each code block that can be highlighted. @type {WeakMap<Element, string>} */
const languages = new WeakMap()

const escaped = text =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const plainTag =
  /&lt;(\/?(?:b|br|del|details|em|i|ins|kbd|li|mark|ol|p|s|small|strong|sub|summary|sup|u|ul) ?\/?)&gt;/gi

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    // HTML is shown as text, except for a few plain tags without attributes. The result is sanitised all the same.
    html: ({ text }) => escaped(text.replaceAll(/<!--.*?-->/gs, '')).replaceAll(plainTag, '<$1>'),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // Remote images are not loaded (that would reveal who reads this, and when); they become links.
    image({ href, text }) {
      if (href.startsWith('data:image/')) return `<img src="${escaped(href)}" alt="${escaped(text)}">`
      return `<a href="${escaped(href)}">${escaped(text || href)}</a>`
    },
  },
})

const allowed = {
  ALLOWED_TAGS: [
    ...['a', 'abbr', 'b', 'blockquote', 'br', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt', 'em'],
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'ins', 'kbd', 'li', 'mark', 'ol', 'p', 'pre', 'q'],
    ...['s', 'samp', 'small', 'strong', 'sub', 'summary', 'sup'],
    ...['table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'u', 'ul', 'var'],
  ],
  ALLOWED_ATTR: ['href', 'title', 'alt', 'src', 'class', 'start', 'align', 'colspan', 'rowspan', 'open'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: ['start', 'align', 'colspan', 'rowspan'], // not URLs, so not checked as such
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
}

// Runs while the elements are still in an inert document that loads nothing.
DOMPurify.addHook('afterSanitizeAttributes', node => {
  if (node.nodeName === 'IMG' && !/^data:image\//i.test(node.getAttribute('src') ?? '')) node.remove()
  if (node.nodeName !== 'CODE') node.removeAttribute('class')
})

/**
 * Shows Markdown in an element; called again with a longer text, it redraws only the blocks that changed.
 * A block followed by two others counts as finished, so only the end of the text is lexed again.
 * @param {HTMLElement} into
 */
export const markdownView = into => {
  /** @type {{ raw: string, nodes: Node[], lit: boolean }[]} */
  const blocks = []

  const show = (text, from) => {
    const start = blocks.slice(0, from).reduce((sum, block) => sum + block.raw.length, 0)
    const tokens = marked.lexer(text.slice(start))
    let same = from
    for (const token of tokens) {
      if (blocks[same]?.raw !== token.raw) break
      same += 1
    }
    clear(same)
    for (const token of tokens.slice(same - from)) add(token.raw, [token])
  }
  const clear = from => {
    for (const block of blocks.splice(from)) for (const node of block.nodes) node.remove()
  }
  const add = (raw, tokens) => {
    const nodes = elementsOf(marked.parser(tokens))
    into.append(...nodes)
    blocks.push({ raw, nodes, lit: false })
  }
  /** Each block once, when it is finished: before that the colours would flicker, and every word would cost more. */
  const light = finished => {
    for (const block of finished) {
      if (block.lit) continue
      block.lit = true
      for (const node of block.nodes) if (node.nodeType === Node.ELEMENT_NODE) lightIn(node)
    }
  }

  /** What comes after too many links, or too deep a nesting. */
  const rest = el('p', { class: 'as-text', dir: 'auto' })
  /** Draws as much as may be drawn, and shows the rest as it is. */
  const within = (text, draw) => {
    const { rich, plain } = bounded(text.replaceAll('\r\n', '\n'))
    draw(rich)
    rest.textContent = plain
    if (plain === '') rest.remove()
    else into.append(rest)
  }

  return {
    /** A longer version of the text, or another text. */
    draft: text => within(text, drawDraft),
    final: text => within(text, drawFinal),
  }

  function drawDraft(whole) {
    let settled = 0
    let open = 2
    for (let i = blocks.length - 1; i >= 0; i -= 1) {
      if (open === 0) {
        settled = i + 1
        break
      }
      if (blocks[i].raw.trim() !== '') open -= 1
    }
    const prefix = blocks
      .slice(0, settled)
      .map(block => block.raw)
      .join('')
    show(whole, whole.startsWith(prefix) ? settled : 0)
    light(
      blocks.slice(
        0,
        Math.max(
          0,
          blocks.findLastIndex(block => block.raw.trim() !== ''),
        ),
      ),
    )
  }

  function drawFinal(text) {
    const tokens = marked.lexer(text)
    // HTML may open in one block and close in another, and a link may be defined after its use: drawn as a whole.
    if (tokens.some(({ type }) => type === 'html' || type === 'def')) {
      clear(0)
      add(text, tokens)
    } else show(text, 0)
    light(blocks)
  }
}

/** Highlighting is loaded with the first code block that has a language. */
const lightIn = async node => {
  const blocks = [...node.querySelectorAll('pre > code')].filter(code => languages.has(code))
  if (blocks.length === 0) return
  const { highlight } = await import('./highlight.js')
  for (const code of blocks) highlight(code, languages.get(code))
}

// Each block takes its text direction from its first letter. Everything inside a list item or a quotation has the same direction, so
// that the bullet or the bar is on the right side.
const directed = ':is(p, h1, h2, h3, h4, h5, h6):not(:is(li, blockquote) > *), li, blockquote, dt, dd, th, td, summary'

const elementsOf = html => {
  const fragment = DOMPurify.sanitize(html, allowed)
  for (const link of fragment.querySelectorAll('a')) {
    link.rel = 'noopener noreferrer'
    link.target = '_blank'
  }
  for (const block of fragment.querySelectorAll(directed)) block.dir = 'auto'
  for (const pre of fragment.querySelectorAll('pre')) frameCode(pre)
  for (const table of fragment.querySelectorAll('table')) {
    const frame = el('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'Table' })
    table.replaceWith(frame)
    frame.append(table)
  }
  return [...fragment.childNodes]
}

const frameCode = pre => {
  const code = pre.querySelector('code')
  const language = /^language-([\w+#.-]+)/.exec(code?.className ?? '')?.[1] ?? 'text'
  code?.removeAttribute('class')
  if (code !== null && language !== 'text') languages.set(code, language)
  const frame = el('div', { class: 'code', dir: 'ltr' })
  const head = el(
    'div',
    { class: 'code-head' },
    el('span', {}, language),
    copyButton('Copy code', () => pre.textContent),
  )
  pre.tabIndex = 0
  pre.replaceWith(frame)
  frame.append(head, pre)
}
