// What happens, as it happens: a list that can be searched, and each event opens as its timeline.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../api.js'
import { followLine, useEntries, useNow } from '../live.js'
import { Ago, Badge, Empty, Head, html, Lane, Notice, Skeleton } from '../ui.js'
import { dayOf, exactTime, withoutLane } from '../words.js'

const page = 50
/** More than that makes a slow page; what is older can be asked for again. */
const most = 1000
/** What comes within that time is drawn at once. */
const gatherMs = 50
// Kept when another page is looked at, so that nothing has to be asked for twice.
let kept = null

const merged = (entries, more) => {
  const all = new Map(entries.map(entry => [entry.id, entry]))
  for (const entry of more) all.set(entry.id, entry)
  return [...all.values()].sort((a, b) => b.id - a.id)
}

const useFeed = () => {
  const [entries, setEntries] = useState(kept)
  const [trouble, setTrouble] = useState(null)
  const [atEnd, setAtEnd] = useState(false)
  /** Not in the list yet. While the newest are asked for they wait: with them in it, a hole before them would not be seen. */
  const told = useRef([])
  const timer = useRef(0)
  const asking = useRef(true)
  const underWay = useRef(false)
  const show = all => {
    kept = all
    setEntries(all)
  }

  const load = async before => {
    setTrouble(null)
    if (before === undefined) asking.current = underWay.current = true
    try {
      const query = before === undefined ? '' : `&before=${before}`
      const { entries: more } = await ask(`/api/activity?limit=${page}${query}`)
      if (more.length < page) setAtEnd(true)
      const old = kept ?? []
      // So much has happened since we looked that there is a hole between: what is older can be asked for again.
      const hole = before === undefined && old.length > 0 && more.length > 0 && more.at(-1).id > old[0].id + 1
      if (hole) setAtEnd(false)
      if (before === undefined) asking.current = false
      const news = asking.current ? [] : told.current.splice(0)
      show(merged(merged(hole ? [] : old, more), news))
    } catch (problem) {
      setTrouble(problem)
    }
    if (before === undefined) underWay.current = false
  }
  useEffect(() => {
    load()
    const unfollow = followLine(({ again }) => again && load())
    return () => {
      clearTimeout(timer.current)
      unfollow()
    }
  }, [])
  const take = () => {
    timer.current = 0
    if (asking.current) return
    const all = merged(kept, told.current.splice(0))
    // As far back as somebody has gone it stays.
    const room = Math.max(most, kept.length)
    if (all.length > room) setAtEnd(false)
    show(all.slice(0, room))
  }
  useEntries(entry => {
    told.current.push(entry)
    if (!asking.current) timer.current ||= setTimeout(take, gatherMs)
    // It could not be asked for before, and somebody is there again.
    else if (!underWay.current) load()
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
      (wanted === '' || `${entry.text} ${entry.lane ?? ''} ${named(entry.type)}`.toLowerCase().includes(wanted)),
  )
  const oldest = entries?.at(-1)?.id

  return html`
    <${Head} title="Activity" about="Live, newest first. Choose one with an event to see its whole story." />
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="field-label grow"><span class="unseen">Filter by text</span>
        <input class="input" type="search" placeholder="Filter by text" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      <label class="field-label"><span class="unseen">Level</span>
        <select class="input" value=${level} onChange=${event => setLevel(event.target.value)}>
          <option value="all">All levels</option><option value="warn">Warnings only</option><option value="info">Without warnings</option>
        </select></label>
    </form>
    ${trouble !== null && (entries === null || trouble.status !== 0) && html`<${Notice} trouble=${trouble} retry=${() => load()} />`}
    ${entries === null && trouble === null && html`<${Skeleton} rows=${8} />`}
    ${entries !== null && shown.length === 0 && html`<${Empty}>${entries.length === 0 ? 'Nothing has happened yet.' : 'Nothing here fits that filter.'}</${Empty}>`}
    ${byDay(shown).map(
      ([day, some]) => html`
        <section key=${day} aria-label=${day}><h2 class="day">${day}</h2>
          <ol class="feed">${some.map(entry => html`<${Line} key=${entry.id} entry=${entry} now=${now} />`)}</ol></section>`,
    )}
    ${oldest !== undefined && !atEnd && html`<p class="centre"><button type="button" class="button" onClick=${() => load(oldest)}>Show older</button></p>`}`
}

/** `turn-put-off`, as one would say it. */
const named = type => type.replaceAll('-', ' ')

const byDay = entries => [...Map.groupBy(entries, entry => dayOf(entry.at))]

const Line = ({ entry: { at, type, level, event, lane, text }, now }) => {
  const inside = html`
    <span class="clock">${exactTime(at)}</span>
    <span class="grow"><span class="asked">${withoutLane(text, lane)}</span><span class="under">${level === 'warn' && html`<${Badge} tone="bad">warning</${Badge}> `}${named(type)}${lane && html` · <${Lane} lane=${lane} />`}</span></span>
    <span class="quiet ago"><${Ago} at=${at} now=${now} /></span>`
  return html`<li class=${level}>${
    event === null
      ? html`<div class="row">${inside}</div>`
      : html`<a class="row" href="#/activity?event=${event}">${inside}</a>`
  }</li>`
}
