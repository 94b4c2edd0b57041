// Brain: the facts that the owner and the agent look up, filtered by text, type, category and tag.
import { useState } from 'preact/hooks'
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
import { ActionButton, Badge, Empty, Head, html, Loaded } from '../ui.js'

const facets = [
  { name: 'type', label: 'Type', of: ({ type }) => [type] },
  { name: 'category', label: 'Category', of: ({ category }) => [category] },
  { name: 'tag', label: 'Tag', of: ({ tags }) => tags },
]
const textOf = ({ content, type, category, tags }) => [content, type, category, ...tags].join(' ')

export const Page = () => {
  const records = useRecords('/api/brain', 'brain.json')
  const filter = useFilter(byNewest(records.items), { textOf, facets })
  /** A fact, `new`, or null. */
  const [editing, setEditing] = useState(null)
  const now = useNow()
  return html`
    <${Head} title="Brain" about="Facts that you and the agent can look up. Stored in brain.json.">
      <button type="button" class="button primary" onClick=${() => setEditing('new')}>Add fact</button>
    </${Head}>
    <${Removed} records=${records} />
    <${Loaded} answer=${records.answer} rows=${5}>
      ${({ items }) =>
        items.length === 0
          ? html`<${Empty}>No facts yet. Add one, or ask the agent to remember something.</${Empty}>`
          : html`
            <${FilterBar} filter=${filter} label="Search facts" counted=${count => `${plural(count, 'fact')} found`} />
            ${filter.found.length === 0 && html`<${Empty}>No facts match the filter.</${Empty}>`}
            <ul class="cards">${filter.shown.map(
              fact =>
                html`<${Fact} key=${fact.id} fact=${fact} now=${now} records=${records} choose=${filter.choose} edit=${() => setEditing(fact)} />`,
            )}</ul>
            <${More} filter=${filter} />`}
    </${Loaded}>
    ${editing !== null && html`<${FactForm} records=${records} fact=${editing === 'new' ? null : editing} onClose=${() => setEditing(null)} />`}`
}

const Fact = ({ fact, now, records, choose, edit }) => {
  const { id, content, type, category, tags, updatedAt } = fact
  const name = shortened(content)
  return html`
    <li class="card record">
      <${Text} text=${content} />
      <div class="record-foot">
        <div class="marks">
          ${type && html`<${Badge}>${type}</${Badge}>`}
          ${category && html`<span class="quiet">${category}</span>`}
          <${Tags} tags=${tags} choose=${choose} />
          <span class="quiet"><${Changed} at=${updatedAt} now=${now} /></span>
        </div>
        <div class="acts">
          <button type="button" class="button small" aria-label=${`Edit “${name}”`} onClick=${edit}>Edit</button>
          <${ActionButton} class="button small quiet-danger" run=${() => records.remove(id, content)} aria-label=${`Delete “${name}”`}>Delete</${ActionButton}>
        </div>
      </div>
    </li>`
}

const FactForm = ({ records, fact, onClose }) => {
  const known = name => [...new Set(records.items.map(item => item[name]))].filter(Boolean).sort()
  const fields = [
    { name: 'content', label: 'Fact', kind: 'long', most: 10_000, required: true },
    { name: 'type', label: 'Type', most: 100, hint: 'e.g. fact, preference, person', known: known('type') },
    { name: 'category', label: 'Category', most: 100, known: known('category') },
    { name: 'tags', label: 'Tags', kind: 'tags', most: 5000, hint: 'separated by commas' },
  ]
  return html`<${RecordForm} title=${fact ? 'Edit fact' : 'Add fact'} what="fact" fields=${fields} records=${records} item=${fact}
    start=${{ content: '', type: 'fact', category: '', tags: [] }} onClose=${onClose} />`
}
