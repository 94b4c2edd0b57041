// Two tabs of the memory page: the log of changes, to undo, approve or deny them, and the search.
import { useEffect, useState } from 'preact/hooks'
import { sendJson } from '../api.js'
import { Diff } from '../editor.js'
import { plural } from '../format.js'
import { useResource } from '../live.js'
import { hrefOf } from '../route-params.js'
import { ActionButton, Ago, Badge, Card, Empty, html, Lane, Loaded } from '../ui.js'

const tones = { made: 'plain', waiting: 'busy', approved: 'good', denied: 'bad', undone: 'plain' }
/** Readable names; the other states are shown as they are. */
const stateLabels = { made: 'applied', waiting: 'needs approval' }
const logPage = 20

/** @param {{ log: object, limit: number, onMore: (limit: number) => void, now: number }} props */
export const Changes = ({ log, limit, onMore, now }) => {
  const order = async body => {
    const result = await sendJson('/api/memory', body)
    await log.load()
    return result
  }
  return html`
    <${Card} title="Changes">
      <${Loaded} answer=${log} rows=${4}>
        ${({ changes }) => html`
          ${changes.length === 0 && html`<${Empty}>No changes yet.</${Empty}>`}
          <ol class="changes">${changes.map(change => html`<${Change} key=${change.id} change=${change} now=${now} order=${order} />`)}</ol>
          ${changes.length >= limit && html`<p class="centre"><button type="button" class="button" onClick=${() => onMore(limit + logPage)}>Show older</button></p>`}`}
      </${Loaded}>
    </${Card}>`
}

/** A manual change is noticed by its file, a change made in a turn by its activity. */
export const useChangeLog = () => {
  const [limit, setLimit] = useState(logPage)
  const log = useResource(`/api/memory/log?limit=${limit}`, {
    refreshOn: () => true,
    refreshOnFile: file => file.endsWith('.md') || file.endsWith('.json') || file.startsWith('skills/'),
    everyMs: 60_000,
  })
  return { log, limit, onMore: setLimit }
}

const Change = ({ change, now, order }) => {
  const { id, at, file, lane, person, owner, events, state, diff } = change
  const by =
    events.length === 0
      ? 'edited manually'
      : `by the agent for ${owner ? 'the owner' : (person ?? 'an unknown person')}`
  const what = `change ${id} of ${file}`
  return html`
    <li class="change">
      <div class="job-head">
        <div class="grow"><h3>${file}</h3><p class="under">${by}${lane && html` · <${Lane} lane=${lane} />`} · <${Ago} at=${at} now=${now} />${events.map(event => html` · <a href=${hrefOf('memory', { tab: 'changes', event })}>event ${event}</a>`)}</p></div>
        <${Badge} tone=${tones[state]}>${stateLabels[state] ?? state}</${Badge}>
      </div>
      <${Diff} diff=${diff} open=${state === 'waiting'} />
      <div class="acts">
        ${
          state === 'waiting' &&
          html`<${ActionButton} class="button primary" run=${() => order({ approve: id })} done="Approved. The change is now in the file." aria-label=${`Approve ${what}`}>Approve</${ActionButton}>
            <${ActionButton} class="button quiet-danger" run=${() => order({ deny: id })} done="Denied. The file is unchanged." aria-label=${`Deny ${what}`}>Deny</${ActionButton}>`
        }
        ${(state === 'made' || state === 'approved') && html`<${ActionButton} class="button small" run=${() => order({ undo: id })} done="Change undone." aria-label=${`Undo ${what}`}>Undo</${ActionButton}>`}
      </div>
    </li>`
}

export const Search = ({ now }) => {
  const [words, setWords] = useState('')
  const [asked, setAsked] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setAsked(words.trim()), 250)
    return () => clearTimeout(timer)
  }, [words])
  const answer = useResource(asked === '' ? null : `/api/memory?q=${encodeURIComponent(asked)}&limit=20`)
  const submit = event => {
    event.preventDefault()
    setAsked(words.trim())
  }
  const sync = () => sendJson('/api/memory', { sync: true })
  return html`
    <form class="filters" role="search" onSubmit=${submit}>
      <label class="field-label grow"><span class="unseen">Search memory</span>
        <input class="input" type="search" placeholder="Search memory" maxlength="1000" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      <${ActionButton} run=${sync} done=${({ documents, changed }) => `${plural(documents, 'document')} checked, ${changed} updated.`}>Rebuild index</${ActionButton}>
    </form>
    ${asked === '' && html`<${Empty}>Searches memory.md, facts, notes and past conversations.</${Empty}>`}
    ${
      asked !== '' &&
      html`<${Card} title="Results">
        <${Loaded} answer=${answer} rows=${3}>
          ${({ hits }) => html`
            <p class="unseen" role="status">${plural(hits.length, 'result')}</p>
            ${hits.length === 0 && html`<${Empty}>No results for “${asked}”.</${Empty}>`}
            <ul class="rows">${hits.map(
              ({ source, title, snippet, at }, place) => html`
                <li key=${place}><div class="row"><span class="grow"><span class="asked">${title || source}</span>
                  <span class="snippet" dir="auto">${marked(snippet)}</span>${title !== '' && html`<span class="under">${source}</span>`}</span>
                  ${at !== null && html`<span class="quiet"><${Ago} at=${at} now=${now} /></span>`}</div></li>`,
            )}</ul>`}
        </${Loaded}>
      </${Card}>`
    }`
}

/** The gateway puts the matches between pairs of asterisks. */
const marked = snippet =>
  snippet.split('**').map((part, place) => (place % 2 === 1 ? html`<mark>${part}</mark>` : part))
