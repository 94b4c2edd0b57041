// How one turn looks: the person's message, what is going on, and the answer.
import { copyButton, el } from './dom.js'
import { markdownView } from './markdown.js'

const shownActions = 4

/**
 * @param {string} id
 * @param {{ edit: (id: string) => void, cancel: (id: string) => void, retry: (id: string) => void }} asked
 */
export const turnView = (id, asked) => {
  const question = el('div', { class: 'question' })
  const status = el('div', { class: 'status' })
  const actions = el('ul', { class: 'actions', 'aria-label': 'What the agent does' })
  const prose = el('div', { class: 'prose' })
  const foot = el('div', { class: 'foot' })
  const answer = el('div', { class: 'answer' }, actions, prose, foot)
  const element = el('li', { class: 'turn', 'data-id': id }, question, status, answer)
  const markdown = markdownView(prose)
  let shown = null

  const button = (label, act) => el('button', { type: 'button', class: 'link-button', click: () => act(id) }, label)

  const statusOf = turn => {
    if (turn.change?.type === 'edit') return ['Saving the change …']
    if (turn.change?.type === 'cancel') return ['Cancelling …']
    switch (turn.state) {
      case 'sending':
        return ['Sending …']
      case 'waiting': {
        const place = turn.position > 0 ? `Waiting, number ${turn.position} in the queue` : 'Waiting, next in line'
        return [place, button('Edit', asked.edit), button('Cancel', asked.cancel)]
      }
      case 'refused':
        if (turn.reason === 'cancelled') return ['Cancelled', button('Send again', asked.retry)]
        return [turn.reason === '' ? 'Not taken' : `Not taken: ${turn.reason}`, button('Retry', asked.retry)]
      default:
        return []
    }
  }

  const showAnswer = turn => {
    if (turn.answer === null) {
      markdown.draft(turn.draft)
      return
    }
    if (shown === turn.answer.text) return
    shown = turn.answer.text
    markdown.final(shown)
    const time = el('time', { datetime: new Date(turn.answer.at).toISOString() }, clockOf(turn.answer.at))
    foot.replaceChildren(
      time,
      copyButton('Copy the answer', () => turn.answer.text),
    )
  }

  return {
    element,
    update(turn) {
      element.dataset.state = turn.state
      element.classList.toggle('cancelled', turn.state === 'refused' && turn.reason === 'cancelled')
      const thinking = turn.state === 'accepted' || turn.state === 'running'
      // A screen reader is told the answer once, not every word of the draft.
      answer.setAttribute('aria-busy', String(thinking))
      question.hidden = turn.text === null
      const words = turn.change?.type === 'edit' ? turn.change.text : turn.text
      if (question.textContent !== words) question.textContent = words
      question.title = new Date(turn.at).toLocaleString()
      replaceIfOther(status, statusOf(turn))
      replaceIfOther(actions, actionLines(turn))
      showAnswer(turn)
      answer.hidden = !thinking && turn.answer === null && turn.actions.length === 0
      answer.classList.toggle('failed', turn.answer !== null && !turn.answer.ok)
    },
  }
}

const actionLines = turn => {
  const lines = turn.actions
    .slice(-shownActions)
    .map(({ label, phase }) => el('li', { class: phase }, el('span', { class: 'mark', 'aria-hidden': 'true' }), label))
  const older = turn.actions.length - lines.length
  if (older > 0) lines.unshift(el('li', { class: 'older' }, `${older} earlier steps`))
  if (turn.note !== '') lines.push(el('li', { class: 'notice' }, turn.note))
  const quiet = !turn.actions.some(({ phase }) => phase === 'started') && turn.draft === ''
  if (quiet && (turn.state === 'accepted' || turn.state === 'running')) {
    lines.push(el('li', { class: 'started' }, el('span', { class: 'mark', 'aria-hidden': 'true' }), 'Thinking'))
  }
  return lines
}

/** Leaves equal content alone: focus stays, spinners keep turning, nothing is read out again. */
const replaceIfOther = (parent, children) => {
  const next = el('div', {}, ...children)
  if (next.innerHTML !== parent.innerHTML) parent.replaceChildren(...next.childNodes)
}

const clockOf = at => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
