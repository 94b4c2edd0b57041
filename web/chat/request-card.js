// The card of a request: what the agent wants to do, the ways to answer, and afterwards what was answered. In the chat and in Mission Control.
import { el } from './dom.js'
import { detailOf } from './request-detail.js'
import { formOf } from './request-forms.js'
import { forWhom, gistOf, outcomeOf, reasonOf, titleOf, toolOf } from './request-words.js'

/**
 * Draws a request, and draws it again when it has ended.
 * @param {{ answered?: (request: any) => void, eventLink?: (event: number) => string }} [options]
 */
export const requestCard = ({ answered = () => {}, eventLink } = {}) => {
  const element = el('div', { class: 'ask-card', tabindex: '-1' })
  let state = null

  const draw = request => {
    element.dataset.state = request.state
    element.dataset.request = String(request.id)
    const link = eventLink && el('a', { href: eventLink(request.event), class: 'ask-event' }, `event ${request.event}`)
    element.replaceChildren(request.state === 'open' ? openView(request, settled, link) : endedView(request, link))
  }
  const update = request => {
    // What it asks never changes, and an ended one stays ended: older news may arrive later.
    if (state !== null && (state !== 'open' || request.state === 'open')) return
    const hadFocus = element.contains(document.activeElement)
    state = request.state
    draw(request)
    if (hadFocus) element.focus({ preventScroll: true })
  }
  const settled = request => {
    update(request)
    answered(request)
  }
  return { element, update }
}

const openView = (request, settled, link) => {
  const titleId = `ask-title-${request.id}`
  const trouble = el('p', { class: 'ask-error', role: 'alert', hidden: true })
  const decide = async decision => {
    if (view.getAttribute('aria-busy') === 'true') return
    view.setAttribute('aria-busy', 'true')
    trouble.hidden = true
    try {
      settled(await sendDecision(request.id, decision))
    } catch (error) {
      trouble.textContent = error.message
      trouble.hidden = false
    }
    view.setAttribute('aria-busy', 'false')
  }
  const view = el(
    'section',
    { 'aria-labelledby': titleId },
    el('p', { id: titleId, class: 'ask-title' }, titleOf(request)),
    ...detailOf(request),
    factsOf(request, link),
    formOf(request, decide),
    trouble,
  )
  return view
}

const endedView = (request, link) => {
  const reason = reasonOf(request)
  const summary = el(
    'summary',
    {},
    el('span', { class: 'ask-outcome' }, outcomeOf(request)),
    el('span', { class: 'ask-gist', dir: 'auto' }, gistOf(request)),
  )
  return el(
    'details',
    {},
    summary,
    ...(reason === '' ? [] : [el('p', { class: 'ask-reason', dir: 'auto' }, `Reason: ${reason}`)]),
    ...answersOf(request),
    ...detailOf(request),
    factsOf(request, link),
  )
}

const answersOf = ({ ask, verdict }) => {
  if (ask.kind !== 'question') return []
  const answers = verdict?.answers ?? {}
  const pairs = ask.questions.flatMap(({ question }) => [
    el('dt', { dir: 'auto' }, question),
    el('dd', { dir: 'auto' }, answers[question] ?? 'No answer'),
  ])
  return [el('dl', { class: 'ask-answers' }, ...pairs)]
}

const factsOf = (request, link) => {
  const { lane, folder, backend, at, answeredAt, rule, always } = request
  const rows = [
    ...(request.ask.kind === 'tool' ? [['Tool', toolOf(request)]] : []),
    ['Folder', folder],
    ['Backend', backend],
    ['Asked for', forWhom(request)],
    ['Asked', timeOf(at)],
    ...(answeredAt === null ? [] : [['Ended', timeOf(answeredAt)]]),
    ...(always === null || rule === null ? [] : [['Rule', rule]]),
    ...(link
      ? [
          ['Conversation', lane],
          ['Timeline', link],
        ]
      : []),
  ]
  return el(
    'dl',
    { class: 'ask-facts' },
    ...rows.map(([term, value]) => el('div', {}, el('dt', {}, term), el('dd', {}, value))),
  )
}

const timeOf = at => {
  const [then, now] = [new Date(at), new Date()]
  const isToday = then.toDateString() === now.toDateString()
  return isToday ? then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' }) : then.toLocaleString()
}

/** Resolves with the request as it is then, also if somebody else was faster. Rejects with an error whose message can be shown. */
const sendDecision = async (id, decision) => {
  let response
  try {
    response = await fetch('/api/requests', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ id, ...decision }),
    })
  } catch {
    throw new Error('Cannot reach the gateway. Please try again.')
  }
  const body = await response.json().catch(() => null) // a proxy may answer with an HTML page
  if (body?.request) return body.request
  throw new Error(body?.error ?? body?.why ?? `The answer was not accepted (${response.status}).`)
}
