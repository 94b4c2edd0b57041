// Content Intel: items to read or write about, and their status.
import { useRef, useState } from 'preact/hooks'
import { plural } from '../format.js'
import { useNow } from '../live.js'
import { RecordForm } from '../record-form.js'
import {
  byNewest,
  Changed,
  FilterBar,
  More,
  Removed,
  shortened,
  Tags,
  Text,
  useFilter,
  useRecords,
} from '../records.js'
import { ActionButton, Badge, Empty, Head, html, Loaded, toast } from '../ui.js'

const states = [
  ['new', 'New'],
  ['reading', 'Reading'],
  ['used', 'Used'],
  ['dropped', 'Dropped'],
]
const facets = [
  { name: 'status', label: 'Status', of: ({ status }) => [status], words: value => Object.fromEntries(states)[value] },
  { name: 'kind', label: 'Kind', of: ({ kind }) => [kind] },
  { name: 'tag', label: 'Tag', of: ({ tags }) => tags },
]
const textOf = ({ title, url, kind, summary, tags }) => [title, url, kind, summary, ...tags].join(' ')

export const Page = () => {
  const records = useRecords('/api/content', 'content-items.json')
  const filter = useFilter(byNewest(records.items), { textOf, facets })
  /** A content item, `new`, or null. */
  const [editing, setEditing] = useState(null)
  const now = useNow()
  return html`
    <${Head} title="Content Intel" about="Articles, videos and ideas to read or write about. Stored in content-items.json.">
      <button type="button" class="button primary" onClick=${() => setEditing('new')}>Add item</button>
    </${Head}>
    <${Removed} records=${records} />
    <${Loaded} answer=${records.answer} rows=${5}>
      ${({ items }) =>
        items.length === 0
          ? html`<${Empty}>No content items yet. Add one, or ask the agent to find some.</${Empty}>`
          : html`
            <${FilterBar} filter=${filter} label="Search content items" counted=${count => `${plural(count, 'item')} found`} />
            ${filter.found.length === 0 && html`<${Empty}>No content items match the filter.</${Empty}>`}
            <ul class="cards content-items">${filter.shown.map(
              item =>
                html`<${Item} key=${item.id} item=${item} now=${now} records=${records} choose=${filter.choose} edit=${() => setEditing(item)} />`,
            )}</ul>
            <${More} filter=${filter} />`}
    </${Loaded}>
    ${editing !== null && html`<${ItemForm} records=${records} item=${editing === 'new' ? null : editing} onClose=${() => setEditing(null)} />`}`
}

const Item = ({ item, now, records, choose, edit }) => {
  const { id, title, url, kind, summary, status, tags, updatedAt } = item
  const name = shortened(title)
  const address = webAddress(url)
  /** Chosen but not saved yet. Saved one after the other; otherwise the second would look like a conflict with the first. */
  const [optimistic, setOptimistic] = useState(null)
  const line = useRef(Promise.resolve())
  const unsaved = useRef(0)
  const saveStatus = async (next, was) => {
    try {
      await records.change(id, { status: next }, { status: was })
    } catch (problem) {
      toast(problem.message, 'bad')
    }
    unsaved.current -= 1
    if (unsaved.current === 0) setOptimistic(null)
  }
  const move = event => {
    const next = event.target.value
    const was = optimistic ?? status
    unsaved.current += 1
    setOptimistic(next)
    line.current = line.current.then(() => saveStatus(next, was))
  }
  return html`
    <li class="card record content-item is-${status}">
      <div class="job-head">
        <div class="grow">
          <h2 dir="auto">${address ? html`<a href=${address.href} target="_blank" rel="noopener noreferrer">${title}</a>` : title}</h2>
          ${url && html`<p class="under">${address ? address.host : url}</p>`}
        </div>
        <select class="input small" aria-label=${`Status of “${name}”`} value=${optimistic ?? status} onChange=${move}>${states.map(([one, words]) => html`<option key=${one} value=${one}>${words}</option>`)}</select>
      </div>
      ${summary && html`<${Text} text=${summary} />`}
      <div class="record-foot">
        <div class="marks">
          ${kind && html`<${Badge}>${kind}</${Badge}>`}
          <${Tags} tags=${tags} choose=${choose} />
          <span class="quiet"><${Changed} at=${updatedAt} now=${now} /></span>
        </div>
        <div class="acts">
          <button type="button" class="button small" aria-label=${`Edit “${name}”`} onClick=${edit}>Edit</button>
          <${ActionButton} class="button small quiet-danger" run=${() => records.remove(id, title)} aria-label=${`Delete “${name}”`}>Delete</${ActionButton}>
        </div>
      </div>
    </li>`
}

const ItemForm = ({ records, item, onClose }) => {
  const kinds = [...new Set(['article', 'video', 'post', 'idea', ...records.items.map(({ kind }) => kind)])]
  const fields = [
    { name: 'title', label: 'Title', most: 500, required: true },
    { name: 'url', label: 'URL', most: 2000, hint: 'https://…' },
    { name: 'kind', label: 'Kind', most: 100, known: kinds.filter(Boolean) },
    { name: 'status', label: 'Status', kind: 'choice', choices: states },
    { name: 'summary', label: 'Summary', kind: 'long', most: 10_000 },
    { name: 'tags', label: 'Tags', kind: 'tags', most: 5000, hint: 'separated by commas' },
  ]
  return html`<${RecordForm} title=${item ? 'Edit content item' : 'Add content item'} what="content item" fields=${fields} records=${records} item=${item}
    start=${{ title: '', url: '', kind: 'article', status: 'new', summary: '', tags: [] }} onClose=${onClose} />`
}

/** Only http and https become links. */
const webAddress = url => {
  const address = URL.canParse(url) ? new URL(url) : null
  return address && ['http:', 'https:'].includes(address.protocol) ? address : null
}
