// Two parts of the page about memory: every change of it, which can be undone, approved or denied; and looking for something in it.
import { useEffect, useState } from 'preact/hooks'
import { tell } from '../api.js'
import { Diff } from '../editor.js'
import { useAnswer } from '../live.js'
import { hrefOf } from '../spot.js'
import { Act, Ago, Badge, Card, Empty, html, Lane, Loaded } from '../ui.js'
import { plural } from '../words.js'

const tones = { made: 'plain', waiting: 'busy', approved: 'good', denied: 'bad', undone: 'plain' }
const logPage = 20

/** @param {{ log: object, limit: number, onMore: (limit: number) => void, now: number }} props */
export const Changes = ({ log, limit, onMore, now }) => {
  const order = async body => {
    const result = await tell('/api/memory', body)
    await log.load()
    return result
  }
  return html`
    <${Card} title="Changes">
      <${Loaded} answer=${log} rows=${4}>
        ${({ changes }) => html`
          ${changes.length === 0 && html`<${Empty}>Nothing was changed yet.</${Empty}>`}
          <ol class="changes">${changes.map(change => html`<${Change} key=${change.id} change=${change} now=${now} order=${order} />`)}</ol>
          ${changes.length >= limit && html`<p class="centre"><button type="button" class="button" onClick=${() => onMore(limit + logPage)}>Show older</button></p>`}`}
      </${Loaded}>
    </${Card}>`
}

/** A change by hand is told by its file, one of a turn by what happens. */
export const useLog = () => {
  const [limit, setLimit] = useState(logPage)
  const log = useAnswer(`/api/memory/log?limit=${limit}`, {
    concerns: () => true,
    from: file => file.endsWith('.md') || file.endsWith('.json') || file.startsWith('skills/'),
    everyMs: 60_000,
  })
  return { log, limit, onMore: setLimit }
}

const Change = ({ change, now, order }) => {
  const { id, at, file, lane, person, owner, events, state, diff } = change
  const by = events.length === 0 ? 'edited by hand' : `in a talk with ${owner ? 'the owner' : (person ?? 'somebody')}`
  const what = `change ${id} of ${file}`
  return html`
    <li class="change">
      <div class="job-head">
        <div class="grow"><h3>${file}</h3><p class="under">${by}${lane && html` · <${Lane} lane=${lane} />`} · <${Ago} at=${at} now=${now} />${events.map(event => html` · <a href=${hrefOf('memory', { tab: 'changes', event })}>event ${event}</a>`)}</p></div>
        <${Badge} tone=${tones[state]}>${state === 'waiting' ? 'waits for you' : state}</${Badge}>
      </div>
      <${Diff} diff=${diff} open=${state === 'waiting'} />
      <div class="acts">
        ${
          state === 'waiting' &&
          html`<${Act} class="button primary" run=${() => order({ approve: id })} done="Approved: it counts now." aria-label=${`Approve ${what}`}>Approve</${Act}>
            <${Act} class="button quiet-danger" run=${() => order({ deny: id })} done="Denied: the file stays as it was." aria-label=${`Deny ${what}`}>Deny</${Act}>`
        }
        ${(state === 'made' || state === 'approved') && html`<${Act} class="button small" run=${() => order({ undo: id })} done="Undone." aria-label=${`Undo ${what}`}>Undo</${Act}>`}
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
  const answer = useAnswer(asked === '' ? null : `/api/memory?q=${encodeURIComponent(asked)}&limit=20`)
  const submit = event => {
    event.preventDefault()
    setAsked(words.trim())
  }
  const sync = () => tell('/api/memory', { sync: true })
  return html`
    <form class="filters" role="search" onSubmit=${submit}>
      <label class="field-label grow"><span class="unseen">Search the memory</span>
        <input class="input" type="search" placeholder="Search the memory" maxlength="1000" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      <${Act} run=${sync} done=${({ documents, changed }) => `${plural(documents, 'document')} looked at, ${changed} had changed.`}>Read all again</${Act}>
    </form>
    ${asked === '' && html`<${Empty}>Looks through memory.md, facts, notes and past talks.</${Empty}>`}
    ${
      asked !== '' &&
      html`<${Card} title="Found">
        <${Loaded} answer=${answer} rows=${3}>
          ${({ hits }) => html`
            <p class="unseen" role="status">${plural(hits.length, 'place')} found</p>
            ${hits.length === 0 && html`<${Empty}>Nothing fits “${asked}”.</${Empty}>`}
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

/** The words found stand between pairs of asterisks. */
const marked = snippet =>
  snippet.split('**').map((part, place) => (place % 2 === 1 ? html`<mark>${part}</mark>` : part))
