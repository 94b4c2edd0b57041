// The list of the chats in this browser: beside the talk, or a drawer where there is no room.
import { el } from './dom.js'
import { forgetChat, recentChats } from './kept.js'

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   addressOf: (id: string) => string,
 *   current: () => string | null,
 *   open: (id: string | null) => void,
 * }} options
 * @param {AbortSignal} signal
 */
export const openChats = ({ part, addressOf, current, open }, signal) => {
  const panel = part('chats')
  const shade = part('shade')
  const toggle = part('chats-button')

  const setDrawer = shown => {
    panel.classList.toggle('shown', shown)
    shade.hidden = !shown
    toggle.setAttribute('aria-expanded', String(shown))
    if (shown) panel.querySelector('a')?.focus()
  }
  const choose = id => {
    setDrawer(false)
    open(id)
  }

  const line = ({ id, title }) => {
    const here = id === current()
    const name = title || 'Untitled'
    const link = el('a', { href: addressOf(id), dir: 'auto', ...(here ? { 'aria-current': 'page' } : {}) }, name)
    link.addEventListener('click', event => {
      event.preventDefault()
      choose(id)
    })
    const forget = el(
      'button',
      { type: 'button', class: 'forget', 'aria-label': `Remove “${name}” from this list` },
      '×',
    )
    forget.addEventListener('click', () => {
      forgetChat(id)
      draw()
      if (id === current()) open(null)
    })
    return el('li', {}, link, forget)
  }

  const draw = () => {
    const chats = recentChats()
    part('recent').replaceChildren(...chats.map(line))
    part('no-recent').hidden = chats.length > 0
  }

  toggle.addEventListener('click', () => setDrawer(!panel.classList.contains('shown')))
  shade.addEventListener('click', () => setDrawer(false))
  const closeByKey = event => {
    if (event.key !== 'Escape' || !panel.classList.contains('shown')) return
    event.preventDefault() // this Escape stops no answer
    setDrawer(false)
    toggle.focus()
  }
  document.addEventListener('keydown', closeByKey, { capture: true, signal })
  part('new-chat').addEventListener('click', () => choose(null))
  addEventListener('storage', draw, { signal }) // another tab
  draw()
  return { draw }
}
