// Draws one turn: the message, its status, the agent's steps and the answer.
import { copyButton, el } from './dom.js'
import { fileList, nameIn, workspaceLink } from './files.js'
import { markdownView } from './markdown.js'
import { requestCard } from './request-card.js'
import { workView } from './work.js'

const shownActions = 4
const longQuestion = 4000 // characters; a longer message is collapsed until expanded
const shownOfLong = 600
const stoppedMark = '*Stopped.*'

/**
 * @param {string} id
 * @param {Record<'edit' | 'cancel' | 'steer' | 'retry' | 'takeBack' | 'askAgain' | 'askDifferently' | 'goOn' | 'fillGap', (id: string) => void> & { answered: (request: any) => void, loadWork: (id: string) => Promise<any>, linkTo: (attachment: object) => string | null }} handlers
 */
export const turnView = (id, handlers) => {
  const question = questionView(handlers.linkTo)
  const status = el('div', { class: 'status' })
  const actions = el('ul', { class: 'actions', 'aria-label': 'Steps' })
  const prose = el('div', { class: 'prose' })
  const files = el('div', {})
  const foot = el('div', { class: 'foot' })
  /** Answered requests come before the text, open ones after it. */
  const ended = el('div', { class: 'asks' })
  const open = el('div', { class: 'asks' })
  const cards = new Map()
  const work = workView(() => handlers.loadWork(id))
  const answer = el('div', { class: 'answer' }, actions, ended, prose, open, files, work.element, foot)
  const gap = el(
    'button',
    { type: 'button', class: 'gap', hidden: true, click: () => handlers.fillGap(id) },
    'Show messages in between',
  )
  const element = el('li', { class: 'turn', 'data-id': id }, gap, question.element, status, answer)
  const markdown = markdownView(prose)
  let shown = null

  const focus = () => {
    element.tabIndex = -1
    element.focus({ preventScroll: true })
  }
  const button = (label, act) => el('button', { type: 'button', class: 'link-button', click: () => act(id) }, label)

  const statusOf = turn => {
    if (turn.change?.type === 'edit') return ['Saving edit …']
    if (turn.change?.type === 'cancel') return ['Cancelling …']
    switch (turn.state) {
      case 'sending':
        return [turn.deferred ? 'Will be sent once the gateway is back' : 'Sending …']
      case 'waiting': {
        const place = turn.position > 0 ? `Queued, number ${turn.position}` : 'Queued, up next'
        return [
          place,
          button('Tell it now', handlers.steer),
          button('Edit', handlers.edit),
          button('Cancel', handlers.cancel),
        ]
      }
      case 'refused':
        if (turn.reason === 'cancelled') return ['Cancelled', button('Send again', handlers.retry)]
        // Sending the same text again would fail again.
        if (turn.reason.startsWith('Too long:')) return [turn.reason, button('Edit', handlers.takeBack)]
        return [turn.reason || 'Not accepted', button('Retry', handlers.retry)]
      default:
        return []
    }
  }

  const showRequests = turn => {
    for (const request of turn.requests) {
      const card = cards.get(request.id) ?? requestCard({ answered: handlers.answered })
      cards.set(request.id, card)
      const hadFocus = card.element.contains(document.activeElement)
      card.update(request)
      const place = request.state === 'open' ? open : ended
      if (card.element.parentElement !== place) place.append(card.element)
      if (hadFocus && !card.element.contains(document.activeElement)) card.element.focus({ preventScroll: true })
    }
  }

  const showAnswer = turn => {
    if (turn.answer === null) {
      markdown.draft(turn.draft)
      return
    }
    if (shown === turn.answer.text) return
    shown = turn.answer.text
    const partial = beforeStop(turn.answer)
    const text = partial ?? shown
    markdown.final(text)
    const sent = turn.answer.files.map(path => ({ name: nameIn(path), href: workspaceLink(path) }))
    files.replaceChildren(...(sent.length === 0 ? [] : [fileList(sent)]))
    foot.replaceChildren(
      ...(partial === null ? [] : [el('span', { class: 'stopped' }, 'Stopped')]),
      el('time', { datetime: new Date(turn.answer.at).toISOString() }, clockOf(turn.answer.at)),
      ...(text === '' ? [] : [copyButton('Copy answer', () => text)]),
      ...(turn.text === null
        ? []
        : [button('Ask again', handlers.askAgain), button('Ask differently', handlers.askDifferently)]),
      ...(turn.answer.ok ? [] : [button('Continue', handlers.goOn)]),
    )
  }

  return {
    element,
    focus,
    /** Scrolls to the message or its answer and highlights it. */
    show(role) {
      const target = role === 'agent' ? answer : question.element
      target.scrollIntoView({ block: target.clientHeight > 400 ? 'start' : 'center' })
      focus()
      element.classList.remove('highlighted')
      void element.clientHeight // restarts the animation
      element.classList.add('highlighted')
    },
    update(turn) {
      element.dataset.state = turn.state
      if (!turn.gap && document.activeElement === gap) focus()
      gap.hidden = !turn.gap
      element.classList.toggle('cancelled', turn.state === 'refused' && turn.reason === 'cancelled')
      const thinking = turn.state === 'accepted' || turn.state === 'running'
      // So that screen readers announce the answer once, not every word of the draft.
      answer.setAttribute('aria-busy', String(thinking))
      question.show(turn.change?.type === 'edit' ? turn.change.text : turn.text, turn)
      const pressed = status.contains(document.activeElement) ? document.activeElement.textContent : null
      replaceIfOther(status, statusOf(turn))
      if (pressed !== null && !status.contains(document.activeElement))
        ([...status.querySelectorAll('button')].find(({ textContent }) => textContent === pressed) ?? { focus }).focus()
      replaceIfOther(actions, actionLines(turn))
      showRequests(turn)
      showAnswer(turn)
      work.update(turn.answer === null ? 0 : Math.max(turn.work, actionsIn(turn)))
      answer.hidden =
        !thinking && turn.answer === null && turn.actions.length === 0 && turn.note === '' && turn.requests.length === 0
      answer.classList.toggle('failed', turn.answer !== null && !turn.answer.ok && beforeStop(turn.answer) === null)
    },
  }
}

/** The person's message; a very long one is collapsed, so that the conversation around it stays readable. */
const questionView = linkTo => {
  const words = el('div', { dir: 'auto' })
  const more = el('button', { type: 'button', class: 'more link-button' })
  const files = el('section', {})
  const element = el('div', { class: 'question' }, words, files)
  let shownFiles = ''
  let text = null
  let unfolded = false

  const draw = () => {
    const long = text.length > longQuestion
    words.textContent = long && !unfolded ? `${beginningOf(text)} …` : text
    more.textContent = unfolded ? 'Show less' : `Show all (${text.length.toLocaleString()} characters)`
    more.setAttribute('aria-expanded', String(unfolded))
    if (long) words.after(more)
    else more.remove()
  }
  more.addEventListener('click', () => {
    unfolded = !unfolded
    draw()
    if (!unfolded) element.scrollIntoView({ block: 'nearest' })
  })

  return {
    element,
    /** @param {string | null} message @param {{ at: number, attachments: object[] }} turn */
    show(message, { at, attachments }) {
      element.hidden = message === null
      element.title = new Date(at).toLocaleString()
      const ids = attachments.map(({ id, name }) => id ?? name).join()
      if (ids !== shownFiles) {
        shownFiles = ids
        files.replaceChildren(
          ...(attachments.length === 0 ? [] : [fileList(attachments.map(one => ({ ...one, href: linkTo(one) })))]),
        )
      }
      if (message === null || message === text) return
      text = message
      draw()
    },
  }
}

/** The beginning of a text, cut between two words if possible. */
const beginningOf = text => {
  const start = text.slice(0, shownOfLong)
  const gap = start.search(/\s\S{0,100}$/)
  return gap > 0 ? start.slice(0, gap) : start.replace(/[\uD800-\uDBFF]$/, '')
}

/** The part of the answer written before it was stopped; null: it was not stopped. */
const beforeStop = ({ text, ok }) => {
  if (ok) return null
  if (text === 'Stopped.') return ''
  return text.endsWith(stoppedMark) ? text.slice(0, -stoppedMark.length).trimEnd() : null
}

/** Without what only tells that the agent is busy. */
const actionsIn = turn =>
  turn.actions.filter(({ label }) => !/^(?:Thinking$|Waiting for permission)/.test(label)).length

const actionLines = turn => {
  // Then they are part of the work under the answer.
  if (turn.answer !== null) return []
  const lines = turn.actions
    .slice(-shownActions)
    .map(({ label, phase }) => el('li', { class: phase }, el('span', { class: 'mark', 'aria-hidden': 'true' }), label))
  const older = turn.actions.length - lines.length
  if (older > 0) lines.unshift(el('li', { class: 'older' }, `${older} earlier steps`))
  if (turn.note !== '') lines.push(el('li', { class: 'notice' }, turn.note))
  if (turn.requests.some(({ state }) => state === 'open'))
    return [
      ...lines,
      el('li', { class: 'waits' }, el('span', { class: 'mark', 'aria-hidden': 'true' }), 'Waiting for your answer'),
    ]
  const quiet = !turn.actions.some(({ phase }) => phase === 'started') && turn.draft === ''
  if (quiet && (turn.state === 'accepted' || turn.state === 'running')) {
    lines.push(el('li', { class: 'started' }, el('span', { class: 'mark', 'aria-hidden': 'true' }), 'Thinking'))
  }
  return lines
}

/** Leaves equal content alone, so that focus and spinners stay and nothing is announced again. */
const replaceIfOther = (parent, children) => {
  const next = el('div', {}, ...children)
  if (next.innerHTML !== parent.innerHTML) parent.replaceChildren(...next.childNodes)
}

const clockOf = at => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
