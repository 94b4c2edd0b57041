// At a glance: is it well, what runs, what waits, what did today cost, what failed, what comes next.
import { useState } from 'preact/hooks'
import { followLine, useAnswer, useNow, useStatus } from '../live.js'
import { Ago, Badge, Card, Empty, Head, html, Lane, Loaded } from '../ui.js'
import { count, dollars, megabytes, moment, plural, shortCount, span, wholeDate, withoutLane } from '../words.js'

let lineState = document.body.dataset.line
followLine(({ type }) => {
  if (type !== 'connecting') lineState = type // while it is tried again it is still lost
})

export const Page = () => {
  const answer = useAnswer('/api/overview', { concerns: () => true, everyMs: 30_000 })
  const now = useNow(1000)
  // When the status was told, so that the uptime goes on by itself.
  const [told, setTold] = useState({ status: null, at: now })
  useStatus(({ status, running }) => {
    if (answer.data) answer.change({ ...answer.data, status: { ...answer.data.status, ...status }, running })
  })
  const { data } = answer
  if (data && data.status !== told.status) setTold({ status: data.status, at: Date.now() })

  return html`
    <${Head} title="Overview" about=${data && html`<${Version} status=${data.status} up=${data.status.uptimeMs + Math.max(0, now - told.at)} />`} />
    <${Loaded} answer=${answer} rows=${6}>
      ${view => html`
        <${Health} ...${view} />
        <${Tiles} ...${view} />
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

/** The gateway lists the first hundred; there may be more. */
const howManyWait = (waiting, status) =>
  waiting.length < 100 ? waiting.length : Math.max(waiting.length, status.events?.waiting ?? 0)

const Health = ({ status, running, waiting, today }) => {
  const { tone, words, why } = healthOf(status, today)
  const waits = howManyWait(waiting, status)
  const doing =
    running.length > 0
      ? `Working on ${plural(running.length, 'thing')}${waits > 0 ? `, ${count(waits)} waiting` : ''}.`
      : waits > 0
        ? `${plural(waits, 'thing')} waiting.`
        : 'Nothing to do right now.'
  return html`
    <section class="health ${tone}" aria-label="Health">
      <span class="pulse" aria-hidden="true"></span>
      <div><p class="words">${words}</p><p class="quiet">${why ?? doing}</p></div>
    </section>`
}

const healthOf = (status, today) => {
  if (lineState === 'offline' || lineState === 'locked')
    return { tone: 'bad', words: 'Not connected', why: 'What you see is from before the line was lost.' }
  const away = status.unreached ?? []
  if (status.ready && away.length > 0)
    return {
      tone: 'bad',
      words: `${away.map(named).join(' and ')} ${away.length === 1 ? 'is' : 'are'} not connected`,
      why: 'It is tried again by itself. What is written there meanwhile is answered afterwards.',
    }
  if (!status.ready) return { tone: 'busy', words: 'Starting', why: 'The gateway is not ready yet.' }
  const level = status.budget?.level
  if (level === 'over')
    return { tone: 'bad', words: 'Over budget', why: 'Today’s budget is used up: only the owner is answered.' }
  if (level === 'paused')
    return { tone: 'busy', words: 'Saving', why: 'Most of today’s budget is used up: scheduled jobs wait.' }
  if (today.failed > 0) return { tone: 'busy', words: `Well, but ${plural(today.failed, 'turn')} failed today` }
  return { tone: 'good', words: 'All is well' }
}

const named = chat => chat.charAt(0).toUpperCase() + chat.slice(1)

const Tiles = ({ status, running, waiting, today }) => html`
  <dl class="tiles">
    <${Tile} name="Running" value=${count(running.length)} tone=${running.length > 0 ? 'busy' : ''} />
    <${Tile} name="Waiting" value=${count(howManyWait(waiting, status))} />
    <${Tile} name="Turns today" value=${count(today.turns)} />
    <${Tile} name="Failed today" value=${count(today.failed)} tone=${today.failed > 0 ? 'bad' : ''} />
    <${Tile} name="Cost today" value=${dollars(today.costUsd)} more=${status.budget?.usd && `of ${dollars(status.budget.usd.of)}`} />
    <${Tile} name="Tokens today" value=${shortCount(today.inputTokens + today.outputTokens)} more=${`${shortCount(today.outputTokens)} written`} />
  </dl>`

const Tile = ({ name, value, more, tone = '' }) => html`
  <div class="tile ${tone}"><dt>${name}</dt><dd><span class="value">${value}</span>${more && html` <span class="quiet">${more}</span>`}</dd></div>`

const eventLink = (event, children) => html`<a class="row" href="#/overview?event=${event}">${children}</a>`

const Running = ({ running, now }) => html`
  <${Card} title="Running now">
    ${running.length === 0 && html`<${Empty}>Nothing runs.</${Empty}>`}
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
  <${Card} title="Waiting" more=${many > waitingShown && html`<span class="quiet">the first ${waitingShown} of ${count(many)}</span>`}>
    ${waiting.length === 0 && html`<${Empty}>Nothing waits.</${Empty}>`}
    <ul class="rows">${waiting.slice(0, waitingShown).map(
      ({ event, lane, kind, at, notBefore, position, text }) => html`
        <li key=${event}>${eventLink(
          event,
          html`<span class="place" title="Its place in its conversation">${position}</span>
            <span class="grow"><span class="asked" dir="auto">${text || kind}</span><span class="under"><${Lane} lane=${lane} />${
              notBefore > now && html` · not before ${moment(notBefore, now)}`
            }</span></span>
            <span class="quiet"><${Ago} at=${at} now=${now} /></span>`,
        )}</li>`,
    )}</ul>
  </${Card}>`

const Failures = ({ failures, now }) => html`
  <${Card} title="What failed today" more=${html`<a class="more-link" href="#/activity">All activity</a>`}>
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
    ${next.length === 0 && html`<${Empty}>No job is due. Add one on the Schedule page.</${Empty}>`}
    <ul class="rows">${next.map(
      ({ job, at }) => html`
        <li key=${`${job}${at}`}><div class="row"><span class="grow asked">${job}</span><span class="quiet">${moment(at, now)} · <${Ago} at=${at} now=${now} /></span></div></li>`,
    )}</ul>
  </${Card}>`
