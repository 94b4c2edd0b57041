// What the agent did for an answer: folded, loaded when it is opened. Always as text.
import { announce, el } from './dom.js'
import { detailOfWork, textBlock } from './work-detail.js'

/** @typedef {{ kind: string, at: number, endedAt?: number | null, ok?: boolean | null, label?: string, text?: string, use?: any, result?: any, asked?: { state: string, by: string | null } | null }} WorkItem */

const icons = { command: '❯', edit: '✎', read: '☰', search: '⌕', fetch: '↗', todo: '☑', other: '◆' }

/** @param {() => Promise<{ items: WorkItem[] }>} load */
export const workView = load => {
  const words = el('span', {})
  const list = el('div', { class: 'work-items' })
  const element = el('details', { class: 'work', toggle: () => element.open && fill() }, el('summary', {}, words), list)
  let state = 'empty'

  const fill = async () => {
    if (state !== 'empty') return
    state = 'loading'
    list.replaceChildren(el('p', { class: 'quiet' }, 'Loading …'))
    try {
      const { items } = await load()
      list.replaceChildren(
        ...(items.length === 0 ? [el('p', { class: 'quiet' }, 'Nothing is stored of it.')] : items.map(itemOf)),
      )
      state = 'full'
    } catch (error) {
      list.replaceChildren(el('p', { class: 'work-error' }, error.message))
      announce(element, error.message)
      state = 'empty' // opened again, it tries again
    }
  }

  return {
    element,
    /** @param {number} count how many actions there are */
    update(count) {
      element.hidden = count === 0
      // Hidden text would still be part of the answer for whoever reads its text.
      words.textContent = count === 0 ? '' : `What it did: ${count} ${count === 1 ? 'step' : 'steps'}`
    },
    /** There is more than what was loaded. */
    forget() {
      state = 'empty'
      if (element.open) fill()
    },
  }
}

/** @param {WorkItem} item */
const itemOf = item => {
  if (item.kind === 'cut') return el('p', { class: 'quiet' }, 'Later steps were not stored.')
  if (item.kind === 'thought')
    return folded('thought', [mark('…', ''), el('span', { class: 'work-target' }, firstLine(item.text))], 'Thought', [
      el('p', { class: 'work-thought', dir: 'auto' }, item.text),
    ])
  const details = [...(item.use ? detailOfWork(item.use.work) : []), ...outputOf(item.result)]
  const [icon, target] = item.use ? [icons[item.use.work.kind] ?? icons.other, targetOf(item)] : [icons.other, '']
  const head = [
    mark(icon, outcomes[item.ok] ?? 'not finished'),
    el('span', { class: 'work-tool' }, target === '' ? item.label : item.use.tool),
    ...(target === '' ? [] : [el('span', { class: 'work-target', dir: 'ltr' }, target)]),
    el('span', { class: 'work-facts' }, factsOf(item).join(' · ')),
  ]
  const state = item.ok === null ? 'unfinished' : item.ok ? 'ended' : 'failed'
  return details.length === 0
    ? el('div', { class: `work-item ${state}` }, el('div', { class: 'work-line' }, ...head))
    : folded(state, head, null, details)
}

const outcomes = { true: 'done', false: 'failed' }

const folded = (state, head, label, details) => {
  const content = el('div', { class: 'work-detail' })
  const summary = el(
    'summary',
    { class: 'work-line' },
    ...(label ? [el('span', { class: 'unseen' }, label)] : []),
    ...head,
  )
  const element = el('details', { class: `work-item ${state}` }, summary, content)
  // Hundreds of outputs are drawn only if somebody looks at them.
  element.addEventListener('toggle', () => content.childNodes.length === 0 && content.append(...details), {
    once: true,
  })
  return element
}

const mark = (icon, outcome) =>
  el(
    'span',
    { class: 'work-mark' },
    el('span', { 'aria-hidden': 'true' }, icon),
    el('span', { class: 'unseen' }, outcome),
  )

/** @param {WorkItem} item */
const targetOf = ({ use: { work } }) =>
  work.kind === 'todo'
    ? `${work.items.filter(({ state }) => state === 'done').length} of ${work.items.length} done`
    : firstLine(work.command ?? work.path ?? work.query ?? work.url ?? work.input ?? '')

const firstLine = text => {
  const line = text.trim().split('\n')[0]
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}

const answers = { allowed: 'allowed', denied: 'denied', expired: 'not answered', withdrawn: 'withdrawn', open: 'asked' }

/** @param {WorkItem} item */
const factsOf = ({ at, endedAt, ok, result, asked }) => [
  ...(asked ? [`${answers[asked.state]}${asked.by === null ? '' : ` by ${asked.by}`}`] : []),
  ...(result?.exit ? [`exit ${result.exit}`] : ok === false ? ['failed'] : ok === null ? ['not finished'] : []),
  ...(endedAt === null ? [] : [durationOf(endedAt - at)]),
]

const durationOf = ms => {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

const outputOf = result => {
  if (!result) return []
  return [
    ...(result.output.trim() === '' ? [] : [textBlock('Output', [result.output])]),
    ...(result.exit === null ? [] : [el('p', { class: 'quiet' }, `Exit code ${result.exit}`)]),
  ]
}
