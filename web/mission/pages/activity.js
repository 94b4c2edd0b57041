// The activity log, live and filterable. An entry that belongs to an event opens its timeline.
import { useEffect, useRef, useState } from 'preact/hooks'
import { getJson } from '../api.js'
import { dayOf, exactTime, withoutLane } from '../format.js'
import { activityLabel } from '../labels.js'
import { onConnection, useEntries, useNow } from '../live.js'
import { Ago, Badge, Empty, Head, html, Lane, Notice, Skeleton } from '../ui.js'

const page = 50
/** More entries would make the page slow; older ones can be loaded again. */
const most = 1000
/** Entries that arrive within this time are rendered together. */
const gatherMs = 50
// Kept while other pages are open, so that nothing has to be loaded twice.
let cached = null

const merged = (entries, more) => {
  const all = new Map(entries.map(entry => [entry.id, entry]))
  for (const entry of more) all.set(entry.id, entry)
  return [...all.values()].sort((a, b) => b.id - a.id)
}

const useFeed = () => {
  const [entries, setEntries] = useState(cached)
  const [trouble, setTrouble] = useState(null)
  const [atEnd, setAtEnd] = useState(false)
  /** Not in the list yet. They wait while the newest entries are loading: otherwise a gap before them would go unnoticed. */
  const pending = useRef([])
  const timer = useRef(0)
  const asking = useRef(true)
  const loading = useRef(false)
  const show = all => {
    cached = all
    setEntries(all)
  }

  const load = async before => {
    setTrouble(null)
    if (before === undefined) asking.current = loading.current = true
    try {
      const query = before === undefined ? '' : `&before=${before}`
      const { entries: more } = await getJson(`/api/activity?limit=${page}${query}`)
      if (more.length < page) setAtEnd(true)
      const old = cached ?? []
      // More than a page of entries was missed, so there is a gap: older entries are dropped and can be loaded again.
      const hole = before === undefined && old.length > 0 && more.length > 0 && more.at(-1).id > old[0].id + 1
      if (hole) setAtEnd(false)
      if (before === undefined) asking.current = false
      const news = asking.current ? [] : pending.current.splice(0)
      show(merged(merged(hole ? [] : old, more), news))
    } catch (problem) {
      setTrouble(problem)
    }
    if (before === undefined) loading.current = false
  }
  useEffect(() => {
    load()
    const unfollow = onConnection(({ reconnected }) => reconnected && load())
    return () => {
      clearTimeout(timer.current)
      unfollow()
    }
  }, [])
  const take = () => {
    timer.current = 0
    if (asking.current) return
    const all = merged(cached, pending.current.splice(0))
    // Entries loaded with “Show older” stay.
    const room = Math.max(most, cached.length)
    if (all.length > room) setAtEnd(false)
    show(all.slice(0, room))
  }
  useEntries(entry => {
    pending.current.push(entry)
    if (!asking.current) timer.current ||= setTimeout(take, gatherMs)
    // The last load failed, but the gateway is back.
    else if (!loading.current) load()
  })
  return { entries, trouble, atEnd, load }
}

export const Page = () => {
  const { entries, trouble, atEnd, load } = useFeed()
  const [words, setWords] = useState('')
  const [level, setLevel] = useState('all')
  const now = useNow()
  const wanted = words.trim().toLowerCase()
  const shown = (entries ?? []).filter(
    entry =>
      (level === 'all' || entry.level === level) &&
      (wanted === '' ||
        `${entry.text} ${entry.lane ?? ''} ${activityLabel(entry.type)}`.toLowerCase().includes(wanted)),
  )
  const oldest = entries?.at(-1)?.id

  return html`
    <${Head} title="Activity" about="Live, newest first. Open an entry to see the timeline of its event." />
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="field-label grow"><span class="unseen">Filter by text</span>
        <input class="input" type="search" placeholder="Filter by text" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      <label class="field-label"><span class="unseen">Level</span>
        <select class="input" value=${level} onChange=${event => setLevel(event.target.value)}>
          <option value="all">All levels</option><option value="warn">Warnings only</option><option value="info">Hide warnings</option>
        </select></label>
    </form>
    ${trouble !== null && (entries === null || trouble.status !== 0) && html`<${Notice} trouble=${trouble} retry=${() => load()} />`}
    ${entries === null && trouble === null && html`<${Skeleton} rows=${8} />`}
    ${entries !== null && shown.length === 0 && html`<${Empty}>${entries.length === 0 ? 'No activity yet.' : 'No entries match the filter.'}</${Empty}>`}
    ${byDay(shown).map(
      ([day, some]) => html`
        <section key=${day} aria-label=${day}><h2 class="day">${day}</h2>
          <ol class="feed">${some.map(entry => html`<${Line} key=${entry.id} entry=${entry} now=${now} />`)}</ol></section>`,
    )}
    ${oldest !== undefined && !atEnd && html`<p class="centre"><button type="button" class="button" onClick=${() => load(oldest)}>Show older</button></p>`}`
}

const byDay = entries => [...Map.groupBy(entries, entry => dayOf(entry.at))]

const Line = ({ entry: { at, type, level, event, lane, text }, now }) => {
  const inside = html`
    <span class="clock">${exactTime(at)}</span>
    <span class="grow"><span class="asked">${withoutLane(text, lane)}</span><span class="under">${level === 'warn' && html`<${Badge} tone="bad">warning</${Badge}> `}${activityLabel(type)}${lane && html` · <${Lane} lane=${lane} />`}</span></span>
    <span class="quiet ago"><${Ago} at=${at} now=${now} /></span>`
  return html`<li class=${level}>${
    event === null
      ? html`<div class="row">${inside}</div>`
      : html`<a class="row" href="#/activity?event=${event}">${inside}</a>`
  }</li>`
}
