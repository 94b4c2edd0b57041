// The panel of one event: the input, its timeline, the answer and the exact prompt.

import { useEffect, useRef } from 'preact/hooks'
import { getJson } from '../api.js'
import { count, dollars, duration, exactTime, plural, span } from '../format.js'
import { stepLabel } from '../labels.js'
import { useNow, useResource } from '../live.js'
import { Ago, addStyles, Badge, CopyButton, Dialog, Empty, html, Lane, Notice, Skeleton } from '../ui.js'

const tones = { answered: 'good', failed: 'bad', refused: 'bad', running: 'busy', waiting: 'plain' }

export const EventPanel = ({ id, onClose }) => {
  const { data, trouble, load } = useResource(`/api/event?id=${id}`, { refreshOn: entry => entry.event === id })
  return html`
    <${Dialog} label=${`Event ${id}`} class="panel" onClose=${onClose}>
      <header class="panel-head">
        <h2>Event ${id}</h2>
        ${data && html`<${Badge} tone=${tones[data.state]}>${data.state}</${Badge}>`}
        <button type="button" class="button close" onClick=${onClose}>Close</button>
      </header>
      ${data === null && trouble === null && html`<${Skeleton} rows=${6} />`}
      ${data === null && trouble?.status === 404 && html`<${Empty}>This event is no longer stored.</${Empty}>`}
      ${data === null && trouble !== null && trouble.status !== 404 && html`<${Notice} trouble=${trouble} retry=${load} />`}
      ${data && html`<${Story} event=${data} />`}
    </${Dialog}>`
}

const Story = ({ event }) => {
  const now = useNow(event.endedAt === null ? 1000 : 15_000)
  const { lane, kind, source, state, person, at, endedAt, attempts, asked, answer, steps, prompt, usage, actions } =
    event
  return html`
    <dl class="facts">
      <div><dt>Lane</dt><dd><${Lane} lane=${lane} /></dd></div>
      <div><dt>Kind</dt><dd>${kind}${source !== kind && html`, from ${source}`}</dd></div>
      ${person && html`<div><dt>From</dt><dd>${person}</dd></div>`}
      <div><dt>Received</dt><dd><${Ago} at=${at} now=${now} /></dd></div>
      <div><dt>${endedAt === null ? 'Elapsed' : 'Duration'}</dt><dd>${endedAt === null ? span(Math.max(0, now - at)) : duration(endedAt - at)}</dd></div>
      ${attempts > 1 && html`<div><dt>Attempts</dt><dd>${attempts}</dd></div>`}
      ${
        usage &&
        html`<div><dt>Tokens</dt><dd>${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out</dd></div>
          ${usage.costUsd !== null && html`<div><dt>Cost</dt><dd>${dollars(usage.costUsd)}</dd></div>`}`
      }
    </dl>
    <h3>Input</h3>
    <div class="speech mine" dir="auto">${asked}</div>
    <h3>Timeline</h3>
    <${Timeline} steps=${steps} state=${state} />
    <h3>Answer</h3>
    ${answer === null ? html`<${Empty}>No answer yet.</${Empty}>` : html`<div class="speech" dir="auto">${answer}</div>`}
    <${Work} id=${event.id} actions=${actions} ended=${endedAt !== null} />
    <h3>Exact prompt</h3>
    ${prompt === null ? html`<${Empty}>Not stored.</${Empty}>` : html`<${Prompt} ...${prompt} />`}`
}

/** The same as under an answer in the chat; loaded if there is any. */
const Work = ({ id, actions, ended }) => {
  const place = useRef(null)
  const view = useRef(null)
  useEffect(() => {
    if (!actions) return
    view.current ??= Promise.all([import('../../chat/work.js'), addStyles('/web/chat/work.css')]).then(
      ([{ workView }]) => {
        const drawn = workView(() => getJson(`/api/work?event=${id}`))
        place.current?.append(drawn.element)
        return drawn
      },
    )
    view.current.then(drawn => {
      drawn.update(actions)
      drawn.forget()
    })
  }, [actions, ended])
  return html`<div ref=${place}></div>`
}

/** An attempt failed if another one follows, or if it was the last one of a failed event. */
const hasFailed = (steps, place, state) => {
  if (stepLabel(steps[place].what) !== 'finished') return false
  const next = steps
    .slice(place + 1)
    .find(({ what }) => ['started', 'switched backend', 'retry scheduled'].includes(stepLabel(what)))
  return next !== undefined || state === 'failed'
}

const Timeline = ({ steps, state }) => {
  if (steps.length === 0) return html`<${Empty}>No steps recorded.</${Empty}>`
  const start = steps[0].at
  return html`<ol class="timeline">${steps.map(
    ({ at, what, detail }, place) => html`
      <li key=${place} data-what=${stepLabel(what)} class=${hasFailed(steps, place, state) ? 'bad' : ''}>
        <span class="what">${hasFailed(steps, place, state) ? 'failed' : stepLabel(what)}</span>
        <span class="when" title=${exactTime(at)}>${place === 0 ? exactTime(at) : `+${duration(at - start)}`}</span>
        ${detail !== '' && html`<span class="detail">${detail}</span>`}
      </li>`,
  )}</ol>`
}

const Prompt = ({ backend, model, text, system }) => html`
  <p class="quiet">${backend}${model && ` · ${model}`} · prompt ${plural(text.length, 'character')}, system prompt ${plural(system.length, 'character')}</p>
  <${Verbatim} title="Prompt" text=${text} />
  <${Verbatim} title="System prompt" text=${system} />`

const Verbatim = ({ title, text }) => html`
  <details class="verbatim"><summary>${title}</summary>
    <div class="code-head"><span>${plural(text.length, 'character')}</span><${CopyButton} text=${text} label=${`Copy ${title.toLowerCase()}`} /></div>
    <pre tabindex="0" dir="auto">${text}</pre>
  </details>`
