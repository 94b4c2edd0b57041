// Mission Control: which page the address names, the frame around it, and the line's state.
import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { addressOf, readAddress } from './address.js'
import { ask } from './api.js'
import { openFrame } from './frame.js'
import { connect, followLine } from './live.js'
import { EventPanel } from './pages/event.js'
import { addStyles, Confirm, html, Notice, Skeleton } from './ui.js'

const own = (...names) => names.map(name => `/web/mission/${name}.css`)
const ofChat = ['chat', 'prose', 'composer'].map(name => `/web/chat/${name}.css`)
const page = (title, module, styles = []) => ({
  title,
  load: () => Promise.all([module(), ...styles.map(addStyles)]).then(([loaded]) => loaded),
})

/** Loaded when they are first opened, each with the styles that not all need. */
const pages = {
  overview: page('Overview', () => import('./pages/overview.js')),
  chat: page('Chat', () => import('./pages/chat.js'), ofChat),
  activity: page('Activity', () => import('./pages/activity.js')),
  brain: page('Brain', () => import('./pages/brain.js'), own('form', 'records')),
  tasks: page('Tasks', () => import('./pages/tasks.js'), own('form', 'records')),
  content: page('Content Intel', () => import('./pages/content.js'), own('form', 'records')),
  schedule: page('Schedule', () => import('./pages/schedule.js'), own('form', 'work')),
  agents: page('Sub-agents', () => import('./pages/agents.js'), own('work')),
  sessions: page('Sessions', () => import('./pages/sessions.js')),
  memory: page('Memory & persona', () => import('./pages/memory.js'), own('editor', 'work')),
  skills: page('Skills', () => import('./pages/skills.js'), own('editor', 'form', 'work')),
  usage: page('Usage', () => import('./pages/usage.js'), own('usage')),
  pairing: page('Pairing', () => import('./pages/pairing.js'), own('work')),
  settings: page('Settings', () => import('./pages/settings.js'), own('settings')),
  logs: page('Logs', () => import('./pages/logs.js'), own('logs')),
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

/** A browser does not ask again for a module that it could not get, unless the whole page is new. What is typed is kept over that. */
const beginAgain = async () => {
  const isThere = await fetch('/', { method: 'HEAD', cache: 'no-store' }).catch(() => null) // else there would be no page at all
  if (isThere?.ok) location.reload()
}

const Page = () => {
  const { page } = useAddress()
  const [, setLoads] = useState(0)
  const [first] = useState(page)
  const [moved, setMoved] = useState(false)
  const [failed, setFailed] = useState(null)
  const trouble = failed?.page === page ? failed.trouble : null // another one may be here by now
  const View = loaded.get(page)

  const load = () => {
    setFailed(null)
    pages[page]
      .load()
      .then(module => loaded.set(page, module.Page))
      .catch(() => setFailed({ page, trouble: new Error('This page could not be loaded. Is the gateway running?') }))
      .finally(() => setLoads(loads => loads + 1))
  }
  // Before the first painting: the data is waited for.
  useLayoutEffect(() => {
    frame.showPage(page, pages[page].title)
    if (page !== first) setMoved(true)
    if (!loaded.has(page)) load()
  }, [page])
  useEffect(() => (trouble === null ? undefined : followLine(({ again }) => again && beginAgain())), [trouble])
  useEffect(() => {
    // Whoever went to another page is at its beginning; whoever has just come stays where the browser put them.
    // A page that has put the focus somewhere knows better.
    if (View && moved && !place.contains(document.activeElement))
      document.querySelector('#page h1')?.focus({ preventScroll: true })
  }, [View])

  if (trouble !== null) return html`<${Notice} trouble=${trouble} retry=${beginAgain} />`
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
  .catch(() => {}) // the page finds the same, and says so
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
