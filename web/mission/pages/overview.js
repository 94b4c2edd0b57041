// The overview: health, what is running and queued, today’s numbers, failures, and the next jobs.
import { useState } from 'preact/hooks'
import { count, dollars, megabytes, moment, plural, shortCount, span, wholeDate, withoutLane } from '../format.js'
import { onConnection, useNow, useResource, useStatus } from '../live.js'
import { Ago, Badge, Card, Empty, Head, html, Lane, Loaded } from '../ui.js'

let connectionState = document.body.dataset.connection
onConnection(({ type }) => {
  if (type !== 'connecting') connectionState = type // still disconnected during a retry
})

export const Page = () => {
  const answer = useResource('/api/overview', { refreshOn: () => true, everyMs: 30_000 })
  const now = useNow(1000)
  // When the status was received, so that the uptime can be counted on from there.
  const [received, setReceived] = useState({ status: null, at: now })
  useStatus(({ status, running }) => {
    if (answer.data) answer.change({ ...answer.data, status: { ...answer.data.status, ...status }, running })
  })
  const { data } = answer
  if (data && data.status !== received.status) setReceived({ status: data.status, at: Date.now() })

  return html`
    <${Head} title="Overview" about=${data && html`<${Version} status=${data.status} up=${data.status.uptimeMs + Math.max(0, now - received.at)} />`} />
    <${Loaded} answer=${answer} rows=${6}>
      ${view => html`
        <${Health} ...${view} />
        <${Tiles} ...${view} />
        <${Walls} walls=${view.status.walls ?? []} />
        <div class="columns">
          <${Running} running=${view.running} now=${now} />
          <${Waiting} waiting=${view.waiting} many=${howManyWait(view.waiting, view.status)} now=${now} />
          <${Failures} failures=${view.failures} now=${now} />
          <${Next} next=${view.next} now=${now} />
        </div>`}
    </${Loaded}>`
}

const Version = ({ status: { backend, version, rssBytes }, up }) =>
  html`${backend} · version ${version} · up ${span(up)} · ${megabytes(rssBytes)}`

/** The gateway lists only the first hundred. */
const howManyWait = (waiting, status) =>
  waiting.length < 100 ? waiting.length : Math.max(waiting.length, status.events?.waiting ?? 0)

const Health = ({ status, running, waiting, today }) => {
  const { tone, words, why } = healthOf(status, today)
  const waits = howManyWait(waiting, status)
  const doing =
    running.length > 0
      ? `${plural(running.length, 'turn')} running${waits > 0 ? `, ${count(waits)} queued` : ''}.`
      : waits > 0
        ? `${plural(waits, 'event')} queued.`
        : 'Idle.'
  return html`
    <section class="health ${tone}" aria-label="Health">
      <span class="pulse" aria-hidden="true"></span>
      <div><p class="words">${words}</p><p class="quiet">${why ?? doing}</p></div>
    </section>`
}

const healthOf = (status, today) => {
  if (connectionState === 'offline' || connectionState === 'locked')
    return { tone: 'bad', words: 'Disconnected', why: 'This page may be out of date.' }
  if (status.trouble) return { tone: 'bad', words: 'Not accepting messages', why: status.trouble }
  const away = status.unreached ?? []
  if (status.ready && away.length > 0)
    return {
      tone: 'bad',
      words: `${away.map(named).join(' and ')} ${away.length === 1 ? 'is' : 'are'} not connected`,
      why: 'Reconnecting automatically. Messages sent in the meantime are answered afterwards.',
    }
  if (!status.ready) return { tone: 'busy', words: 'Starting', why: 'The gateway is not ready yet.' }
  const level = status.budget?.level
  if (level === 'over')
    return { tone: 'bad', words: 'Over budget', why: 'Today’s budget is used up. Only the owner gets answers.' }
  if (level === 'paused')
    return { tone: 'busy', words: 'Near budget', why: 'Most of today’s budget is used up. Scheduled jobs are skipped.' }
  if (status.notes?.length > 0) return { tone: 'busy', words: 'Needs attention', why: status.notes.join(' ') }
  if (today.failed > 0) return { tone: 'busy', words: `${plural(today.failed, 'turn')} failed today` }
  return { tone: 'good', words: 'All systems normal' }
}

const named = chat => chat.charAt(0).toUpperCase() + chat.slice(1)

const Tiles = ({ status, running, waiting, today }) => html`
  <dl class="tiles">
    <${Tile} name="Running" value=${count(running.length)} tone=${running.length > 0 ? 'busy' : ''} />
    <${Tile} name="Queued" value=${count(howManyWait(waiting, status))} />
    <${Tile} name="Turns today" value=${count(today.turns)} />
    <${Tile} name="Failed today" value=${count(today.failed)} tone=${today.failed > 0 ? 'bad' : ''} />
    <${Tile} name="Cost today" value=${dollars(today.costUsd)} more=${status.budget?.usd && `of ${dollars(status.budget.usd.of)}`} />
    <${Tile} name="Tokens today" value=${shortCount(today.inputTokens + today.outputTokens)} more=${`${shortCount(today.outputTokens)} output`} />
  </dl>`

const Walls = ({ walls }) =>
  walls.length > 0 &&
  html`<p class="quiet walls">${walls.map(
    ({ who, detail, network }, i) =>
      html`${i > 0 && ' · '}${who === 'owner' ? `Owner’s turns: ${detail}` : `Turns of guests and webhooks: ${detail}; ${network}`}`,
  )}</p>`

const Tile = ({ name, value, more, tone = '' }) => html`
  <div class="tile ${tone}"><dt>${name}</dt><dd><span class="value">${value}</span>${more && html` <span class="quiet">${more}</span>`}</dd></div>`

const eventLink = (event, children) => html`<a class="row" href="#/overview?event=${event}">${children}</a>`

const Running = ({ running, now }) => html`
  <${Card} title="Running now">
    ${running.length === 0 && html`<${Empty}>Nothing is running.</${Empty}>`}
    <ul class="rows">${running.map(
      ({ event, lane, kind, backend, since, text }) => html`
        <li key=${event}>${eventLink(
          event,
          html`<span class="spin" aria-hidden="true"></span>
            <span class="grow"><span class="asked" dir="auto">${text || kind}</span><span class="under"><${Lane} lane=${lane} />${backend && ` · ${backend}`}</span></span>
            <span class="quiet" title=${wholeDate(since)}>${span(Math.max(0, now - since))}</span>`,
        )}</li>`,
    )}</ul>
  </${Card}>`

const waitingShown = 6

const Waiting = ({ waiting, many, now }) => html`
  <${Card} title="Queued" more=${many > waitingShown && html`<span class="quiet">first ${waitingShown} of ${count(many)}</span>`}>
    ${waiting.length === 0 && html`<${Empty}>Nothing is queued.</${Empty}>`}
    <ul class="rows">${waiting.slice(0, waitingShown).map(
      ({ event, lane, kind, at, notBefore, position, text }) => html`
        <li key=${event}>${eventLink(
          event,
          html`<span class="place" title="Position in its lane">${position}</span>
            <span class="grow"><span class="asked" dir="auto">${text || kind}</span><span class="under"><${Lane} lane=${lane} />${
              notBefore > now && html` · not before ${moment(notBefore, now)}`
            }</span></span>
            <span class="quiet"><${Ago} at=${at} now=${now} /></span>`,
        )}</li>`,
    )}</ul>
  </${Card}>`

const Failures = ({ failures, now }) => html`
  <${Card} title="Failed today" more=${html`<a class="more-link" href="#/activity">All activity</a>`}>
    ${failures.length === 0 && html`<${Empty}>Nothing failed today.</${Empty}>`}
    <ul class="rows">${failures.map(entry => {
      const inside = html`<${Badge} tone="bad">!</${Badge}>
        <span class="grow"><span class="asked">${withoutLane(entry.text, entry.lane)}</span>${entry.lane && html`<span class="under"><${Lane} lane=${entry.lane} /></span>`}</span>
        <span class="quiet"><${Ago} at=${entry.at} now=${now} /></span>`
      return html`<li key=${entry.id}>${entry.event === null ? html`<div class="row">${inside}</div>` : eventLink(entry.event, inside)}</li>`
    })}</ul>
  </${Card}>`

const Next = ({ next, now }) => html`
  <${Card} title="Next jobs" more=${html`<a class="more-link" href="#/schedule">Schedule</a>`}>
    ${next.length === 0 && html`<${Empty}>No jobs scheduled. Add one on the Schedule page.</${Empty}>`}
    <ul class="rows">${next.map(
      ({ job, at }) => html`
        <li key=${`${job}${at}`}><div class="row"><span class="grow asked">${job}</span><span class="quiet">${moment(at, now)} · <${Ago} at=${at} now=${now} /></span></div></li>`,
    )}</ul>
  </${Card}>`
