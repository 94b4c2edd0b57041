// The list of chats, the gateway’s and this browser’s: beside the conversation, or in a drawer on narrow screens.
import { getJson } from './api.js'
import { el } from './dom.js'
import { chatsWithDrafts, hiddenChats, hideChat, markSeen, recentChats, seenChats } from './storage.js'

const atOnce = 100
const most = 500 // the gateway lists no more
const gatherMs = 300
/** Polling interval while another chat is busy and there is no event stream. */
const lookAgainMs = 5000

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   addressOf: (id: string) => string,
 *   current: () => string | null,
 *   open: (id: string | null) => void,
 *   isNotified: boolean,                      `refresh` is called on every event, so no polling is needed
 * }} options
 * @param {AbortSignal} signal
 */
export const createChatList = ({ part, addressOf, current, open, isNotified }, signal) => {
  const panel = part('chats')
  const shade = part('shade')
  const toggle = part('chats-button')
  /** @type {{ id: string, title: string, at: number, waiting: number, running: boolean }[]} */
  let known = []
  let limit = atOnce
  /** The last chat listed when older ones were requested; null once they are there. */
  let last = null
  let timer = 0
  let asking = 0
  /** The text of the empty list; null: no response from the gateway yet. */
  let none = null

  const setDrawer = shown => {
    panel.classList.toggle('shown', shown)
    shade.hidden = !shown
    toggle.setAttribute('aria-expanded', String(shown))
    part('composer').closest('.conversation').inert = shown
    if (shown) (panel.querySelector('a') ?? part('search')).focus()
  }
  const choose = id => {
    setDrawer(false)
    open(id)
  }

  /** The gateway's chats, and those only this browser knows yet. */
  const all = () => {
    const ids = new Set(known.map(({ id }) => id))
    const own = recentChats().filter(({ id }) => !ids.has(id))
    const hidden = hiddenChats()
    return [...known, ...own].filter(({ id, at }) => !(hidden[id] >= at)).sort((a, b) => b.at - a.at)
  }

  const line = ({ id, title, waiting = 0, running = false }, unread, drafts) => {
    const here = id === current()
    const name = title || 'Untitled'
    const mark = markFor({ running, waiting, unread: !here && unread, draft: !here && drafts.has(id) })
    const link = el(
      'a',
      { href: addressOf(id), dir: 'auto', ...(here ? { 'aria-current': 'page' } : {}) },
      el('span', { class: 'title' }, name),
      ...mark,
    )
    link.addEventListener('click', event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return // opens in a new tab or window
      event.preventDefault()
      choose(id)
    })
    const forget = el(
      'button',
      { type: 'button', class: 'forget', 'aria-label': `Remove “${name}” from this list` },
      '×',
    )
    const item = el('li', { 'data-id': id }, link, forget)
    forget.addEventListener('click', () => {
      const index = [...part('recent').children].indexOf(item)
      hideChat(id, all().find(chat => chat.id === id)?.at ?? Date.now())
      draw()
      const next = [...part('recent').children].slice(0, index + 1).at(-1)
      if (id === current()) open(null)
      else (next?.querySelector('.forget') ?? part('new-chat')).focus()
    })
    return item
  }

  const draw = () => {
    const chats = all()
    const drafts = chatsWithDrafts()
    const here = chats.find(({ id }) => id === current())
    if (here !== undefined && !document.hidden) markSeen(here.id, here.at)
    const seen = seenChats()
    const isUnread = chat => known.includes(chat) && chat.at > seen.of(chat.id)
    const list = part('recent')
    const there = new Map([...list.children].map(item => [item.dataset.id, item]))
    const lines = chats.map(chat => {
      const next = line(chat, isUnread(chat), drafts)
      const before = there.get(chat.id)
      return before?.isEqualNode(next) ? before : next
    })
    const focused = list.contains(document.activeElement) ? document.activeElement : null
    place(list, lines)
    if (focused !== null && !list.contains(focused))
      lines
        .find(one => one.dataset.id === focused.closest('li').dataset.id)
        ?.querySelector(focused.tagName)
        .focus()
    part('no-recent').hidden = chats.length > 0 || none === null
    part('no-recent').textContent = none ?? ''
  }

  /** The “Show older chats” button is gone: the focus goes to the first older chat. */
  const focusFirstOlder = () => {
    const { activeElement } = document
    // Unless the focus has moved elsewhere in the meantime.
    if (last !== null && (activeElement === document.body || part('list').contains(activeElement)))
      part('recent')
        .querySelector(`[data-id="${CSS.escape(last)}"] + li a`)
        ?.focus()
    last = null
  }

  const load = async () => {
    asking += 1
    const mine = asking
    try {
      const { conversations } = await getJson(`/api/conversations?limit=${limit}`, signal)
      if (mine !== asking) return
      known = conversations
      none = 'No chats yet.'
      part('more-chats').hidden = known.length < limit || limit === most
      draw()
      focusFirstOlder()
    } catch (error) {
      if (signal.aborted || mine !== asking) return
      none = error.message // loaded again after the reconnect
      draw()
      return
    }
    if (!isNotified && known.some(({ id, running, waiting }) => id !== current() && (running || waiting > 0)))
      loadSoon(lookAgainMs)
  }
  /** Several events in a row cause one request. */
  const loadSoon = (ms = gatherMs) => {
    clearTimeout(timer)
    timer = setTimeout(() => document.hidden || load(), ms)
  }

  toggle.addEventListener('click', () => setDrawer(!panel.classList.contains('shown')))
  shade.addEventListener('click', () => setDrawer(false))
  matchMedia('(width > 820px)').addEventListener('change', () => setDrawer(false), { signal })
  const closeByKey = event => {
    if (event.key !== 'Escape' || event.defaultPrevented || !panel.classList.contains('shown')) return
    event.preventDefault() // otherwise Escape would also stop the answer
    setDrawer(false)
    toggle.focus()
  }
  document.addEventListener('keydown', closeByKey, { capture: true, signal })
  part('new-chat').addEventListener('click', () => choose(null))
  part('more-chats').addEventListener('click', () => {
    last = part('recent').lastElementChild.dataset.id
    limit = most
    load()
  })
  addEventListener('storage', draw, { signal }) // written by another tab
  document.addEventListener('visibilitychange', () => document.hidden || load(), { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
  draw()
  load() // without waiting for the connection, which takes longer
  return {
    draw,
    refresh: () => loadSoon(),
    load,
    closeDrawer: () => setDrawer(false),
    titleOf: id => titleIn(all(), id),
  }
}

/** Moves only the items that have to move: an item that is moved while it is being clicked would not open. */
const place = (list, lines) => {
  const staying = new Set(lines)
  for (const item of [...list.children]) if (!staying.has(item)) item.remove()
  lines.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null)
  })
}

const titleIn = (chats, id) => chats.find(chat => chat.id === id)?.title || 'Untitled'

/** One mark at most: work in progress comes before unread messages, and those before drafts. */
const markFor = ({ running, waiting, unread, draft }) => {
  if (running) return [el('span', { class: 'mark started', role: 'img', 'aria-label': 'working', title: 'Working' })]
  if (waiting > 0)
    return [el('span', { class: 'mark waits', role: 'img', 'aria-label': `${waiting} waiting`, title: 'Waiting' })]
  if (unread) return [el('span', { class: 'mark unread', role: 'img', 'aria-label': 'unread', title: 'Unread' })]
  return draft ? [el('span', { class: 'draft' }, 'draft')] : []
}
