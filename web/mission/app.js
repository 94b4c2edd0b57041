// Mission Control: shows the page named by the address, and the frame around it.
import { render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { addressOf, readAddress } from './address.js'
import { getJson } from './api.js'
import { createFrame } from './frame.js'
import { connect, onConnection, onRequestNews } from './live.js'
import { EventPanel } from './pages/event.js'
import { addStyles, Confirm, html, Notice, Skeleton } from './ui.js'

const own = (...names) => names.map(name => `/web/mission/${name}.css`)
const ofChat = ['chat', 'prose', 'composer', 'request', 'work'].map(name => `/web/chat/${name}.css`)
const ofCards = ['prose', 'request'].map(name => `/web/chat/${name}.css`)
const page = (title, module, styles = []) => ({
  title,
  load: () => Promise.all([module(), ...styles.map(addStyles)]).then(([loaded]) => loaded),
})

/** Loaded when first opened, each with the styles that only it needs. */
const pages = {
  overview: page('Overview', () => import('./pages/overview.js')),
  chat: page('Chat', () => import('./pages/chat.js'), ofChat),
  activity: page('Activity', () => import('./pages/activity.js')),
  approvals: page('Approvals', () => import('./pages/approvals.js'), [...own('approvals'), ...ofCards]),
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

/** The page in the address, and the event that is open over it. */
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
    moved() // it may have changed since the first rendering
    return () => removeEventListener('hashchange', moved)
  }, [])
  return address
}

/** Browsers retry a failed module only after a reload. Unsaved input survives that. */
const reloadPage = async () => {
  const isThere = await fetch('/', { method: 'HEAD', cache: 'no-store' }).catch(() => null) // a reload while the gateway is down would lose the page
  if (isThere?.ok) location.reload()
}

const Page = () => {
  const { page } = useAddress()
  const [, setLoads] = useState(0)
  const [first] = useState(page)
  const [moved, setMoved] = useState(false)
  const [failed, setFailed] = useState(null)
  const trouble = failed?.page === page ? failed.trouble : null // another page may be open by now
  const View = loaded.get(page)

  const load = () => {
    setFailed(null)
    pages[page]
      .load()
      .then(module => loaded.set(page, module.Page))
      .catch(() => setFailed({ page, trouble: new Error('This page could not be loaded. Is the gateway running?') }))
      .finally(() => setLoads(loads => loads + 1))
  }
  // Before the first paint, so that the data is requested as early as possible.
  useLayoutEffect(() => {
    frame.showPage(page, pages[page].title)
    if (page !== first) setMoved(true)
    if (!loaded.has(page)) load()
  }, [page])
  useEffect(
    () => (trouble === null ? undefined : onConnection(({ reconnected }) => reconnected && reloadPage())),
    [trouble],
  )
  useEffect(() => {
    // After a navigation the focus goes to the heading, unless the page has put it somewhere itself. On the first load it stays where
    // the browser put it.
    if (View && moved && !place.contains(document.activeElement))
      document.querySelector('#page h1')?.focus({ preventScroll: true })
  }, [View])

  if (trouble !== null) return html`<${Notice} trouble=${trouble} retry=${reloadPage} />`
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
const frame = createFrame({ retry: connect })
onConnection(frame.showConnection)
onRequestNews(frame.showRequests)
const begin = () => {
  place.replaceChildren()
  render(html`<${Page} />`, place)
  render(html`<${Over} />`, document.getElementById('over'))
}
const opened = readShown().page
// The skeleton in index.html is shown until then; rendering another one would only take time.
pages[opened]
  .load()
  .then(module => loaded.set(opened, module.Page))
  .catch(() => {}) // the page runs into the same error and shows it
  .finally(begin)
// Sub-agents are listed only if this gateway has them; that may change with a restart.
onConnection(({ type }) => {
  if (type !== 'open') return
  getJson('/api/agents').then(
    () => frame.reveal('agents'),
    () => {}, // this gateway has none
  )
})
connect()
