// The use of a tool, whole: the command, the diff, the list. Always as text.
import { el } from './dom.js'

/** Longer texts are folded; they can be scrolled and unfolded. */
const foldedLines = 14

const kinds = { '+': 'added', '-': 'removed', '@': 'hunk' }

/** @param {any} work as in docs/wire.md */
export const detailOfWork = work => {
  switch (work.kind) {
    case 'command':
      return [textBlock('Command', [work.command])]
    case 'edit':
      return [lineOf(work.path), textBlock('Diff', diffLines(work.diff))]
    case 'read':
      return [lineOf(work.path)]
    case 'search':
      return [textBlock('Search', [work.query]), ...(work.path === null ? [] : [lineOf(work.path)])]
    case 'fetch':
      return [textBlock('Address', [work.url])]
    case 'todo':
      return [el('ul', { class: 'ask-todo' }, ...work.items.map(todoItem))]
    default:
      return [textBlock('Input', [work.input])]
  }
}

const lineOf = path => el('p', { class: 'ask-path', dir: 'ltr' }, path)

const marks = { open: '☐', active: '◐', done: '☑' }
const todoItem = ({ text, state }) => el('li', { dir: 'auto' }, `${marks[state] ?? marks.open} ${text}`)

const diffLines = diff =>
  diff
    .replace(/\n$/, '')
    .split('\n')
    .map(line => el('span', { class: kinds[line[0]] ?? '' }, `${line}\n`))

/** @param {string} label @param {(Node | string)[]} content */
export const textBlock = (label, content) => {
  const text = el('pre', { tabindex: '0', role: 'group', 'aria-label': label, dir: 'ltr' }, ...content)
  return foldable(
    text,
    text.textContent.replace(/\n$/, '').split('\n').length > foldedLines || text.textContent.length > 1500,
  )
}

/** @param {HTMLElement} content @param {boolean} isLong */
export const foldable = (content, isLong) => {
  const block = el('div', { class: 'ask-block' }, content)
  if (!isLong) return block
  const lines = content.textContent.replace(/\n$/, '').split('\n').length
  const more = el('button', { type: 'button', class: 'link-button', 'aria-expanded': 'false' })
  const draw = isOpen => {
    block.classList.toggle('folded', !isOpen)
    more.setAttribute('aria-expanded', String(isOpen))
    more.textContent = isOpen ? 'Show less' : lines > 1 ? `Show all ${lines} lines` : 'Show all'
  }
  more.addEventListener('click', () => draw(block.classList.contains('folded')))
  draw(false)
  block.append(more)
  return block
}
