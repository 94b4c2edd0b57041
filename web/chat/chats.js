// The list of chats: those the gateway has and those of this browser, beside the talk or in a drawer where there is no room.
import { ask } from './ask.js'
import { el } from './dom.js'
import { chatsWithDrafts, forgetChat, hiddenChats, markSeen, recentChats, seenChats } from './kept.js'

const atOnce = 100
const most = 500 // that the gateway lists
const gatherMs = 300
/** While something runs elsewhere and nobody tells us when it ends. */
const lookAgainMs = 5000

/**
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   addressOf: (id: string) => string,
 *   current: () => string | null,
 *   open: (id: string | null) => void,
 *   isTold: boolean,                      somebody calls `refresh` whenever something happens
 * }} options
 * @param {AbortSignal} signal
 */
export const openChats = ({ part, addressOf, current, open, isTold }, signal) => {
  const panel = part('chats')
  const shade = part('shade')
  const toggle = part('chats-button')
  /** @type {{ id: string, title: string, at: number, waiting: number, running: boolean }[]} */
  let known = []
  let limit = atOnce
  /** The last one listed when older ones were asked for, until they are there. */
  let last = null
  let timer = 0
  let asking = 0
  /** What is said where there is none; null: the gateway has not been heard yet. */
  let none = null

  const setDrawer = shown => {
    panel.classList.toggle('shown', shown)
    shade.hidden = !shown
    toggle.setAttribute('aria-expanded', String(shown))
    part('composer').closest('.talk').inert = shown
    if (shown) (panel.querySelector('a') ?? part('search')).focus()
  }
  const choose = id => {
    setDrawer(false)
    open(id)
  }

  /** The gateway's, and those that only this browser knows yet. */
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
      if (event.ctrlKey || event.metaKey || event.shiftKey) return // into a window of its own
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
      forgetChat(id, all().find(chat => chat.id === id)?.at ?? Date.now())
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

  /** The button for older ones is gone: the first of them is where one goes on. */
  const goOn = () => {
    const { activeElement } = document
    // Whoever has gone elsewhere meanwhile stays there.
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
      const { conversations } = await ask(`/api/conversations?limit=${limit}`, signal)
      if (mine !== asking) return
      known = conversations
      none = 'No chats yet.'
      part('more-chats').hidden = known.length < limit || limit === most
      draw()
      goOn()
    } catch (error) {
      if (signal.aborted || mine !== asking) return
      none = error.message // it is asked for again when the line is back
      draw()
      return
    }
    if (!isTold && known.some(({ id, running, waiting }) => id !== current() && (running || waiting > 0)))
      soon(lookAgainMs)
  }
  /** Several news are one question. */
  const soon = (ms = gatherMs) => {
    clearTimeout(timer)
    timer = setTimeout(() => document.hidden || load(), ms)
  }

  toggle.addEventListener('click', () => setDrawer(!panel.classList.contains('shown')))
  shade.addEventListener('click', () => setDrawer(false))
  matchMedia('(width > 820px)').addEventListener('change', () => setDrawer(false), { signal })
  const closeByKey = event => {
    if (event.key !== 'Escape' || event.defaultPrevented || !panel.classList.contains('shown')) return
    event.preventDefault() // this Escape stops no answer
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
  addEventListener('storage', draw, { signal }) // another tab
  document.addEventListener('visibilitychange', () => document.hidden || load(), { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
  draw()
  load() // not only with the line, which takes longer
  return { draw, refresh: () => soon(), load, closeDrawer: () => setDrawer(false), titleOf: id => titleIn(all(), id) }
}

/** Leaves those that stay where they are: one that is being pressed would not open. */
const place = (list, lines) => {
  const staying = new Set(lines)
  for (const item of [...list.children]) if (!staying.has(item)) item.remove()
  lines.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null)
  })
}

const titleIn = (chats, id) => chats.find(chat => chat.id === id)?.title || 'Untitled'

/** One mark at most: what is going on before what has come. */
const markFor = ({ running, waiting, unread, draft }) => {
  if (running) return [el('span', { class: 'mark started', role: 'img', 'aria-label': 'at work', title: 'At work' })]
  if (waiting > 0)
    return [el('span', { class: 'mark waits', role: 'img', 'aria-label': `${waiting} waiting`, title: 'Waiting' })]
  if (unread) return [el('span', { class: 'mark unread', role: 'img', 'aria-label': 'unread', title: 'Unread' })]
  return draft ? [el('span', { class: 'draft' }, 'draft')] : []
}
