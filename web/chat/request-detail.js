// What a request is about, whole: the command, the diff, the plan. Always as text, except for a plan, whose Markdown is sanitised.
import { el } from './dom.js'
import { markdownView } from './markdown.js'
import { detailOfWork, foldable } from './work-detail.js'

/** @param {import('./request-words.js').Request} request */
export const detailOf = ({ ask }) => {
  if (ask.kind === 'question') return []
  if (ask.kind === 'plan') return [planOf(ask.plan)]
  return detailOfWork(ask.use.work)
}

const planOf = plan => {
  const prose = el('div', { class: 'prose ask-plan', tabindex: '0', role: 'group', 'aria-label': 'Plan' })
  markdownView(prose).final(plan)
  return foldable(prose, plan.length > 2500)
}
