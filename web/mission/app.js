// Mission Control: which page the address names, the frame around it, and the line's state.
import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { addressOf, readAddress } from './address.js'
import { ask } from './api.js'
import { openFrame } from './frame.js'
import { connect, followLine } from './live.js'
import { EventPanel } from './pages/event.js'
import { addStyles, Confirm, html, Notice, Skeleton } from './ui.js'

const withStyles = (path, module) => Promise.all([module, addStyles(path)]).then(([loaded]) => loaded)

/** Loaded when they are first opened. */
const pages = {
  overview: { title: 'Overview', load: () => import('./pages/overview.js') },
  chat: { title: 'Chat', load: () => withStyles('/web/chat/chat.css', import('./pages/chat.js')) },
  activity: { title: 'Activity', load: () => import('./pages/activity.js') },
  brain: { title: 'Brain', load: () => import('./pages/brain.js') },
  tasks: { title: 'Tasks', load: () => import('./pages/tasks.js') },
  content: { title: 'Content Intel', load: () => import('./pages/content.js') },
  schedule: { title: 'Schedule', load: () => import('./pages/schedule.js') },
  agents: { title: 'Sub-agents', load: () => import('./pages/agents.js') },
  sessions: { title: 'Sessions', load: () => import('./pages/sessions.js') },
  memory: { title: 'Memory & persona', load: () => import('./pages/memory.js') },
  skills: { title: 'Skills', load: () => import('./pages/skills.js') },
  usage: { title: 'Usage', load: () => import('./pages/usage.js') },
  pairing: { title: 'Pairing', load: () => import('./pages/pairing.js') },
  settings: { title: 'Settings', load: () => import('./pages/settings.js') },
  logs: { title: 'Logs', load: () => import('./pages/logs.js') },
}
const loaded = new Map()

/** The page that the address names, and the event that lies open over it. */
const readShown = () => {
  const { page, event } = readAddress()
  return { page: Object.hasOwn(pages, page) ? page : 'overview', event }
}

const useAddress = () => {
  const [address, setAddress] = useState(readShown)
  useEffect(() => {
    const moved = () =>
      setAddress(before => {
        const next = readShown()
        return next.page === before.page && next.event === before.event ? before : next
      })
    addEventListener('hashchange', moved)
    moved() // it may have changed between the first drawing and now
    return () => removeEventListener('hashchange', moved)
  }, [])
  return address
}

const Page = () => {
  const { page } = useAddress()
  const [, setLoads] = useState(0)
  const [first] = useState(page)
  const [moved, setMoved] = useState(false)
  const [trouble, setTrouble] = useState(null)
  const View = loaded.get(page)

  const load = () => {
    setTrouble(null)
    pages[page]
      .load()
      .then(module => loaded.set(page, module.Page))
      .catch(() => setTrouble(new Error('This page could not be loaded. Is the gateway running?')))
      .finally(() => setLoads(loads => loads + 1))
  }
  // Before the first painting: the data is waited for.
  useLayoutEffect(() => {
    frame.showPage(page, pages[page].title)
    if (page !== first) setMoved(true)
    if (!loaded.has(page)) load()
  }, [page])
  useEffect(() => {
    // Whoever went to another page is at its beginning; whoever has just come stays where the browser put them.
    // A page that has put the focus somewhere knows better.
    if (View && moved && !place.contains(document.activeElement))
      document.querySelector('#page h1')?.focus({ preventScroll: true })
  }, [View])

  if (trouble !== null) return html`<${Notice} trouble=${trouble} retry=${load} />`
  return View ? html`<${View} key=${page} />` : html`<${Skeleton} rows=${5} />`
}

const Over = () => {
  const { page, event } = useAddress()
  const close = () => {
    const { event: open, query } = readAddress()
    if (open === null) return
    query.delete('event')
    location.hash = addressOf(page, query)
  }
  return html`${event !== null && html`<${EventPanel} key=${event} id=${event} onClose=${close} />`}<${Confirm} />`
}

const place = document.getElementById('page')
const frame = openFrame({ retry: connect })
followLine(frame.showLine)
const begin = () => {
  place.replaceChildren()
  render(html`<${Page} />`, place)
  render(html`<${Over} />`, document.getElementById('over'))
}
const opened = readShown().page
// The bones of the document stand until then: to draw others in their place would only take time.
pages[opened]
  .load()
  .then(module => loaded.set(opened, module.Page))
  .catch(() => {}) // tried again by the page, which says so
  .finally(begin)
// Only what this gateway has is listed; another one may answer after a restart.
followLine(({ type }) => {
  if (type !== 'open') return
  ask('/api/agents').then(
    () => frame.reveal('agents'),
    () => {}, // it has none
  )
})
connect()
