// One event, opened beside the page: what was asked, its timeline, the answer, and the exact prompt.
import { useAnswer, useNow } from '../live.js'
import { Ago, Badge, CopyButton, Dialog, Empty, html, Lane, Notice, Skeleton } from '../ui.js'
import { count, dollars, exactTime, plural, span, took } from '../words.js'

const tones = { answered: 'good', failed: 'bad', refused: 'bad', running: 'busy', waiting: 'plain' }

export const EventPanel = ({ id, onClose }) => {
  const { data, trouble, load } = useAnswer(`/api/event?id=${id}`, { concerns: entry => entry.event === id })
  return html`
    <${Dialog} label=${`Event ${id}`} class="panel" onClose=${onClose}>
      <header class="panel-head">
        <h2>Event ${id}</h2>
        ${data && html`<${Badge} tone=${tones[data.state]}>${data.state}</${Badge}>`}
        <button type="button" class="button close" onClick=${onClose}>Close</button>
      </header>
      ${data === null && trouble === null && html`<${Skeleton} rows=${6} />`}
      ${data === null && trouble?.status === 404 && html`<${Empty}>This event is not kept any more.</${Empty}>`}
      ${data === null && trouble !== null && trouble.status !== 404 && html`<${Notice} trouble=${trouble} retry=${load} />`}
      ${data && html`<${Story} event=${data} />`}
    </${Dialog}>`
}

const Story = ({ event }) => {
  const now = useNow(event.endedAt === null ? 1000 : 15_000)
  const { lane, kind, source, state, person, at, endedAt, attempts, asked, answer, steps, prompt, usage } = event
  return html`
    <dl class="facts">
      <div><dt>Where</dt><dd><${Lane} lane=${lane} /></dd></div>
      <div><dt>Kind</dt><dd>${kind}${source !== kind && html`, from ${source}`}</dd></div>
      ${person && html`<div><dt>Who</dt><dd>${person}</dd></div>`}
      <div><dt>Came</dt><dd><${Ago} at=${at} now=${now} /></dd></div>
      <div><dt>${endedAt === null ? 'So far' : 'Took'}</dt><dd>${endedAt === null ? span(Math.max(0, now - at)) : took(endedAt - at)}</dd></div>
      ${attempts > 1 && html`<div><dt>Attempts</dt><dd>${attempts}</dd></div>`}
      ${
        usage &&
        html`<div><dt>Tokens</dt><dd>${count(usage.inputTokens)} read, ${count(usage.outputTokens)} written</dd></div>
          ${usage.costUsd !== null && html`<div><dt>Cost</dt><dd>${dollars(usage.costUsd)}</dd></div>`}`
      }
    </dl>
    <h3>Asked</h3>
    <div class="speech mine" dir="auto">${asked}</div>
    <h3>Timeline</h3>
    <${Timeline} steps=${steps} state=${state} />
    <h3>Answer</h3>
    ${answer === null ? html`<${Empty}>None yet.</${Empty}>` : html`<div class="speech" dir="auto">${answer}</div>`}
    <h3>Exact prompt</h3>
    ${prompt === null ? html`<${Empty}>Not kept.</${Empty}>` : html`<${Prompt} ...${prompt} />`}`
}

/** An attempt that was not the last one, or the last of an event that failed, did not end well. */
const endedBadly = (steps, place, state) => {
  if (steps[place].what !== 'ended') return false
  const next = steps.slice(place + 1).find(({ what }) => ['began', 'moved', 'put off'].includes(what))
  return next !== undefined || state === 'failed'
}

const Timeline = ({ steps, state }) => {
  if (steps.length === 0) return html`<${Empty}>Nothing was noted.</${Empty}>`
  const start = steps[0].at
  return html`<ol class="timeline">${steps.map(
    ({ at, what, detail }, place) => html`
      <li key=${place} data-what=${what} class=${endedBadly(steps, place, state) ? 'bad' : ''}>
        <span class="what">${what}</span>
        <span class="when" title=${exactTime(at)}>${place === 0 ? exactTime(at) : `+${took(at - start)}`}</span>
        ${detail !== '' && html`<span class="detail">${detail}</span>`}
      </li>`,
  )}</ol>`
}

const Prompt = ({ backend, model, text, system }) => html`
  <p class="quiet">${backend}${model && ` · ${model}`} · ${plural(text.length, 'character')}, with ${plural(system.length, 'character')} of system prompt</p>
  <${Verbatim} title="Prompt" text=${text} />
  <${Verbatim} title="System prompt" text=${system} />`

const Verbatim = ({ title, text }) => html`
  <details class="verbatim"><summary>${title}</summary>
    <div class="code-head"><span>${plural(text.length, 'character')}</span><${CopyButton} text=${text} label=${`Copy the ${title.toLowerCase()}`} /></div>
    <pre tabindex="0" dir="auto">${text}</pre>
  </details>`
