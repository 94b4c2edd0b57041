// Content Intel: what was found to read or to write about, and how far one is with it.
import { useRef, useState } from 'preact/hooks'
import { useNow } from '../live.js'
import { RecordForm } from '../record-form.js'
import { byNewest, Changed, More, Removed, Seek, shortened, Tags, Text, useRecords, useSought } from '../records.js'
import { Act, Badge, Empty, Head, html, Loaded, toast } from '../ui.js'
import { plural } from '../words.js'

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
  const sought = useSought(byNewest(records.items), { textOf, facets })
  /** A find, `new`, or null. */
  const [editing, setEditing] = useState(null)
  const now = useNow()
  return html`
    <${Head} title="Content Intel" about="What you and the agent found to read, or to write about. It is in content-items.json.">
      <button type="button" class="button primary" onClick=${() => setEditing('new')}>Add a find</button>
    </${Head}>
    <${Removed} records=${records} />
    <${Loaded} answer=${records.answer} rows=${5}>
      ${({ items }) =>
        items.length === 0
          ? html`<${Empty}>Nothing was found yet. Add something, or ask the agent to look around.</${Empty}>`
          : html`
            <${Seek} sought=${sought} label="Search the finds" counted=${count => `${plural(count, 'find')} found`} />
            ${sought.found.length === 0 && html`<${Empty}>No find fits.</${Empty}>`}
            <ul class="cards finds">${sought.shown.map(
              find =>
                html`<${Find} key=${find.id} find=${find} now=${now} records=${records} choose=${sought.choose} edit=${() => setEditing(find)} />`,
            )}</ul>
            <${More} sought=${sought} />`}
    </${Loaded}>
    ${editing !== null && html`<${FindForm} records=${records} find=${editing === 'new' ? null : editing} onClose=${() => setEditing(null)} />`}`
}

const Find = ({ find, now, records, choose, edit }) => {
  const { id, title, url, kind, summary, status, tags, updatedAt } = find
  const name = shortened(title)
  const address = webAddress(url)
  /** Chosen and not told yet: one after the other, or the second would be taken for somebody else's. */
  const [ahead, setAhead] = useState(null)
  const line = useRef(Promise.resolve())
  const owed = useRef(0)
  const told = async (next, was) => {
    try {
      await records.change(id, { status: next }, { status: was })
    } catch (problem) {
      toast(problem.message, 'bad')
    }
    owed.current -= 1
    if (owed.current === 0) setAhead(null)
  }
  const move = event => {
    const next = event.target.value
    const was = ahead ?? status
    owed.current += 1
    setAhead(next)
    line.current = line.current.then(() => told(next, was))
  }
  return html`
    <li class="card record find is-${status}">
      <div class="job-head">
        <div class="grow">
          <h2 dir="auto">${address ? html`<a href=${address.href} target="_blank" rel="noopener noreferrer">${title}</a>` : title}</h2>
          ${url && html`<p class="under">${address ? address.host : url}</p>`}
        </div>
        <select class="input small" aria-label=${`Status of “${name}”`} value=${ahead ?? status} onChange=${move}>${states.map(([one, words]) => html`<option key=${one} value=${one}>${words}</option>`)}</select>
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
          <${Act} class="button small quiet-danger" run=${() => records.remove(id, title)} aria-label=${`Remove “${name}”`}>Remove</${Act}>
        </div>
      </div>
    </li>`
}

const FindForm = ({ records, find, onClose }) => {
  const kinds = [...new Set(['article', 'video', 'post', 'idea', ...records.items.map(({ kind }) => kind)])]
  const fields = [
    { name: 'title', label: 'Title', most: 500, required: true },
    { name: 'url', label: 'Address', most: 2000, hint: 'https://…' },
    { name: 'kind', label: 'Kind', most: 100, known: kinds.filter(Boolean) },
    { name: 'status', label: 'Status', kind: 'choice', choices: states },
    { name: 'summary', label: 'What it says', kind: 'long', most: 10_000 },
    { name: 'tags', label: 'Tags', kind: 'tags', most: 5000, hint: 'with commas between them' },
  ]
  return html`<${RecordForm} title=${find ? 'Edit the find' : 'Add a find'} what="find" fields=${fields} records=${records} item=${find}
    start=${{ title: '', url: '', kind: 'article', status: 'new', summary: '', tags: [] }} onClose=${onClose} />`
}

/** What leads somewhere on the web; all else is only text. */
const webAddress = url => {
  const address = URL.canParse(url) ? new URL(url) : null
  return address && ['http:', 'https:'].includes(address.protocol) ? address : null
}
