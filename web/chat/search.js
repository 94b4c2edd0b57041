// Full-text search: a field above the list of chats; results replace the list.
import { getJson } from './api.js'
import { el } from './dom.js'

const pauseMs = 200
const most = 50

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   addressOf: (id: string) => string,
 *   titleOf: (id: string) => string,
 *   open: (hit: { conversation: string, id: string, role: string, item: number }) => void,
 * }} options
 * @param {AbortSignal} signal
 */
export const createSearch = ({ part, addressOf, titleOf, open }, signal) => {
  const field = part('search')
  const list = part('hits')
  const found = part('found')
  let timer = 0
  let asking = new AbortController()

  const show = (hits, words) => {
    const within = list.contains(document.activeElement)
    list.replaceChildren(...hits.map(hit => line(hit, words)))
    if (within) (list.querySelector('a') ?? field).focus()
    const many =
      hits.length === most ? `Latest ${most} results` : `${hits.length} ${hits.length === 1 ? 'result' : 'results'}`
    found.textContent = hits.length === 0 ? 'No results.' : many
  }
  const line = (hit, words) => {
    const { conversation, role, at, snippet } = hit
    const link = el(
      'a',
      { href: addressOf(conversation) },
      el('span', { class: 'title', dir: 'auto' }, titleOf(conversation)),
      el('span', { class: 'snippet', dir: 'auto' }, ...marked(snippet, words)),
      el('span', { class: 'when' }, `${role === 'agent' ? 'Agent' : 'You'}, ${whenOf(at)}`),
    )
    link.addEventListener('click', event => {
      event.preventDefault()
      open(hit)
    })
    return el('li', { class: 'hit' }, link)
  }

  const look = async () => {
    const words = field.value.trim()
    asking.abort()
    asking = new AbortController()
    panelFor(words)
    if (words === '') return
    try {
      const query = new URLSearchParams({ q: words.slice(0, 200), limit: String(most) })
      const { hits } = await getJson(`/api/history?${query}`, AbortSignal.any([signal, asking.signal]))
      show(hits, words.split(/\s+/))
    } catch (error) {
      if (error.name !== 'AbortError') found.textContent = error.message
    }
  }
  const panelFor = words => {
    const searching = words !== ''
    list.hidden = !searching
    found.hidden = !searching
    part('list').hidden = searching
    if (!searching) list.replaceChildren()
  }
  const clear = () => {
    field.value = ''
    look()
  }

  field.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(look, field.value.trim() === '' ? 0 : pauseMs)
  })
  field.addEventListener('keydown', event => {
    if (event.key === 'Escape' && field.value !== '') {
      event.preventDefault() // otherwise Escape would also stop the answer or close the drawer
      clear()
    } else if (event.key === 'ArrowDown') {
      event.preventDefault()
      list.querySelector('a')?.focus()
    } else if (event.key === 'Enter') {
      event.preventDefault()
      clearTimeout(timer)
      look()
    }
  })
  signal.addEventListener('abort', () => clearTimeout(timer))
}

/** The snippet with the search terms in `mark` elements. */
const marked = (text, words) => {
  const pattern = new RegExp(`(${words.map(word => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})`, 'gi')
  return text.split(pattern).map((piece, i) => (i % 2 === 1 ? el('mark', {}, piece) : piece))
}

const whenOf = at => {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date().toDateString()
  const clock = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  return isToday
    ? clock
    : `${date.toLocaleDateString([], { day: 'numeric', month: 'short', year: 'numeric' })}, ${clock}`
}
