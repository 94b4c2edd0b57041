// Shared by the pages of facts, tasks and content items: loading records, filtering them, and deleting one with undo.
import { useEffect, useRef, useState } from 'preact/hooks'
import { sendDelete, sendJson } from './api.js'
import { useResource } from './live.js'
import { Ago, html, toast } from './ui.js'

/** How many are shown at first, and added by “Show more”. */
const pageSize = 60

/**
 * The records of a path, refreshed when their file changes. Each call resolves when the page has the new state; `change` rejects with
 * an ApiError of status 409 and `answer.item` if a field no longer has the value in `was`.
 */
export const useRecords = (path, file) => {
  const answer = useResource(path, { refreshOnFile: name => name === file })
  const [removed, setRemoved] = useState(null)
  const at = id => `${path}?id=${encodeURIComponent(id)}`
  const after = async order => {
    try {
      return await order
    } finally {
      await answer.load()
    }
  }
  return {
    path,
    answer,
    items: answer.data?.items ?? [],
    add: fields => after(sendJson(path, fields)),
    change: (id, change, was) => after(sendJson(at(id), { change, was }, 'PATCH')),
    async remove(id, name) {
      await after(sendDelete(at(id)))
      setRemoved({ id, name })
    },
    removed,
    async restore() {
      await after(sendJson(`${path}?restore=${encodeURIComponent(removed.id)}`, {}))
      setRemoved(now => (now?.id === removed.id ? null : now)) // another one may have been deleted since
    },
    forgetRemoved: () => setRemoved(null),
  }
}

/** Says what was deleted and offers to undo it; stays until dismissed. */
export const Removed = ({ records }) => {
  const { removed, restore, forgetRemoved } = records
  const [trouble, setTrouble] = useState(null)
  const undo = useRef(null)
  const shown = useRef(removed)
  shown.current = removed
  // The row that had the focus is gone.
  useEffect(() => {
    setTrouble(null)
    undo.current?.focus()
  }, [removed?.id])
  if (removed === null) return null
  const focusHeading = () => document.querySelector('#page h1')?.focus()
  const dismiss = () => {
    forgetRemoved()
    focusHeading()
  }
  /** False: another record was deleted in the meantime. */
  const isStillIt = () => shown.current === null || shown.current.id === removed.id
  const bringBack = async () => {
    try {
      await restore()
      if (isStillIt()) focusHeading()
    } catch (problem) {
      if (isStillIt()) setTrouble(problem)
      else toast(problem.message, 'bad')
    }
  }
  return html`
    <div class="removed-bar" role="status">
      <span class="grow">${trouble ? trouble.message : `“${shortened(removed.name)}” deleted.`}</span>
      <button type="button" class="link-button" ref=${undo} onClick=${bringBack}>Undo</button>
      <button type="button" class="link-button" onClick=${dismiss}>Dismiss</button>
    </div>`
}

export const shortened = (text, most = 60) => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

/**
 * A filter: search terms, which must all occur, and facets.
 * @param {any[]} items
 * @param {{ textOf: (item: any) => string, facets: { name: string, label: string, of: (item: any) => string[], words?: (value: string) => string }[] }} how
 */
export const useFilter = (items, { textOf, facets }) => {
  const [words, setWords] = useState('')
  const [chosen, setChosen] = useState({})
  const [limit, setLimit] = useState(pageSize)
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean)
  const found = items.filter(item => {
    const text = textOf(item).toLowerCase()
    return (
      wanted.every(word => text.includes(word)) &&
      facets.every(({ name, of }) => !chosen[name] || of(item).includes(chosen[name]))
    )
  })
  return {
    ...{ items, facets, words, chosen, found },
    shown: found.slice(0, limit),
    more: found.length > limit ? () => setLimit(limit + pageSize) : null,
    isFiltered: wanted.length > 0 || Object.values(chosen).some(Boolean),
    setWords,
    choose: (name, value) => setChosen({ ...chosen, [name]: value }),
    clear() {
      setWords('')
      setChosen({})
    },
  }
}

export const FilterBar = ({ filter, label, counted }) => {
  const { items, facets, words, chosen, found, isFiltered, setWords, choose, clear } = filter
  return html`
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="grow"><span class="unseen">${label}</span>
        <input class="input" type="search" placeholder=${label} maxlength="200" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      ${facets.map(facet => html`<${Facet} key=${facet.name} facet=${facet} items=${items} value=${chosen[facet.name] ?? ''} choose=${choose} />`)}
      ${isFiltered && html`<button type="button" class="button" onClick=${clear}>Clear filter</button>`}
    </form>
    <p class="unseen" role="status">${isFiltered ? counted(found.length) : ''}</p>`
}

const Facet = ({ facet: { name, label, of, words = value => value }, items, value, choose }) => {
  const counts = new Map(value === '' ? [] : [[value, 0]])
  for (const one of items.flatMap(of)) if (one !== '') counts.set(one, (counts.get(one) ?? 0) + 1)
  if (counts.size === 0) return null
  const all = [...counts].sort(([a], [b]) => a.localeCompare(b))
  return html`
    <div class="facet">
      <select class="input" aria-label=${label} value=${value} onChange=${event => choose(name, event.target.value)}>
        <option value="">${label}: all</option>
        ${all.map(([one, count]) => html`<option key=${one} value=${one}>${words(one)} (${count})</option>`)}
      </select>
    </div>`
}

export const More = ({ filter }) =>
  filter.more &&
  html`<p class="centre"><button type="button" class="button" onClick=${filter.more}>Show more</button></p>`

/** Clicking a tag filters the list by it. */
export const Tags = ({ tags, choose }) =>
  tags.length > 0 &&
  html`<ul class="tags" aria-label="Tags">${tags.map(
    (tag, place) => html`
      <li key=${place}><button type="button" class="tag" aria-label=${`Filter by tag ${tag}`} onClick=${() => choose('tag', tag)}>${tag}</button></li>`,
  )}</ul>`

/** When it was changed, if that is recorded. */
export const Changed = ({ at, now }) => {
  const time = Date.parse(at)
  return Number.isFinite(time) ? html`<${Ago} at=${time} now=${now} />` : null
}

/** A long text is collapsed until expanded. */
export const Text = ({ text }) => {
  const [open, setOpen] = useState(false)
  const isLong = text.length > 420 || text.split('\n').length > 6
  return html`
    <p class="text ${isLong && !open ? 'is-cut' : ''}" dir="auto">${text}</p>
    ${isLong && html`<button type="button" class="link-button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${open ? 'Show less' : 'Show full text'}</button>`}`
}

export const byNewest = items =>
  items.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0))
