// What the pages of facts, tasks and finds share: their records, looking for some, and taking one away with a way back.
import { useEffect, useRef, useState } from 'preact/hooks'
import { discard, tell } from './api.js'
import { useAnswer } from './live.js'
import { Ago, html, toast } from './ui.js'

/** How many are drawn at once. */
const pageSize = 60

/**
 * The records of a path, kept fresh with their file. Each order resolves when the page has the new state; `change` rejects with a
 * Trouble of status 409 and `answer.item` when a field of `was` is not so any more.
 */
export const useRecords = (path, file) => {
  const answer = useAnswer(path, { from: name => name === file })
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
    add: fields => after(tell(path, fields)),
    change: (id, change, was) => after(tell(at(id), { change, was }, 'PATCH')),
    async remove(id, name) {
      await after(discard(at(id)))
      setRemoved({ id, name })
    },
    removed,
    async restore() {
      await after(tell(`${path}?restore=${encodeURIComponent(removed.id)}`, {}))
      setRemoved(now => (now?.id === removed.id ? null : now)) // the next one may be gone by now
    },
    forgetRemoved: () => setRemoved(null),
  }
}

/** Says what was taken away, and takes it back; stays until something else is done. */
export const Removed = ({ records }) => {
  const { removed, restore, forgetRemoved } = records
  const [trouble, setTrouble] = useState(null)
  const undo = useRef(null)
  const shown = useRef(removed)
  shown.current = removed
  // The row with the focus is gone: here is where one goes on.
  useEffect(() => {
    setTrouble(null)
    undo.current?.focus()
  }, [removed?.id])
  if (removed === null) return null
  const goOn = () => document.querySelector('#page h1')?.focus()
  const dismiss = () => {
    forgetRemoved()
    goOn()
  }
  /** Else the next one was removed meanwhile. */
  const isStillIt = () => shown.current === null || shown.current.id === removed.id
  const bringBack = async () => {
    try {
      await restore()
      if (isStillIt()) goOn()
    } catch (problem) {
      if (isStillIt()) setTrouble(problem)
      else toast(problem.message, 'bad')
    }
  }
  return html`
    <div class="removed-bar" role="status">
      <span class="grow">${trouble ? trouble.message : `“${shortened(removed.name)}” is removed.`}</span>
      <button type="button" class="link-button" ref=${undo} onClick=${bringBack}>Undo</button>
      <button type="button" class="link-button" onClick=${dismiss}>Dismiss</button>
    </div>`
}

export const shortened = (text, most = 60) => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

/**
 * What is looked for: words, which must all be there, and facets, of which each narrows it.
 * @param {any[]} items
 * @param {{ textOf: (item: any) => string, facets: { name: string, label: string, of: (item: any) => string[], words?: (value: string) => string }[] }} how
 */
export const useSought = (items, { textOf, facets }) => {
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
    isNarrow: wanted.length > 0 || Object.values(chosen).some(Boolean),
    setWords,
    choose: (name, value) => setChosen({ ...chosen, [name]: value }),
    clear() {
      setWords('')
      setChosen({})
    },
  }
}

export const Seek = ({ sought, label, counted }) => {
  const { items, facets, words, chosen, found, isNarrow, setWords, choose, clear } = sought
  return html`
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="grow"><span class="unseen">${label}</span>
        <input class="input" type="search" placeholder=${label} maxlength="200" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      ${facets.map(facet => html`<${Facet} key=${facet.name} facet=${facet} items=${items} value=${chosen[facet.name] ?? ''} choose=${choose} />`)}
      ${isNarrow && html`<button type="button" class="button" onClick=${clear}>Show all</button>`}
    </form>
    <p class="unseen" role="status">${isNarrow ? counted(found.length) : ''}</p>`
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

export const More = ({ sought }) =>
  sought.more &&
  html`<p class="centre"><button type="button" class="button" onClick=${sought.more}>Show more</button></p>`

/** Each narrows the list to what has it too. */
export const Tags = ({ tags, choose }) =>
  tags.length > 0 &&
  html`<ul class="tags" aria-label="Tags">${tags.map(
    (tag, place) => html`
      <li key=${place}><button type="button" class="tag" aria-label=${`Only with the tag ${tag}`} onClick=${() => choose('tag', tag)}>${tag}</button></li>`,
  )}</ul>`

/** When it was changed, if its writer has said so. */
export const Changed = ({ at, now }) => {
  const time = Date.parse(at)
  return Number.isFinite(time) ? html`<${Ago} at=${time} now=${now} />` : null
}

/** As much as can be taken in at once; the rest when asked for. */
export const Text = ({ text }) => {
  const [open, setOpen] = useState(false)
  const isLong = text.length > 420 || text.split('\n').length > 6
  return html`
    <p class="text ${isLong && !open ? 'is-cut' : ''}" dir="auto">${text}</p>
    ${isLong && html`<button type="button" class="link-button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${open ? 'Show less' : 'Show all'}</button>`}`
}

export const byNewest = items =>
  items.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0))
