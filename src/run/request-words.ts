// Requests in words: for people, with nothing hidden from them but secrets; and for the agent that asked.
import type { Request, ShownAsk } from '../base/requests.ts'
import { revealed } from '../base/scrub.ts'
import { gist, shownUse } from '../base/shown-use.ts'
import type { Ask, Question, Verdict } from '../base/tool-use.ts'

export const deniedByRule = (tool: string, rule: string | null) =>
  rule === null
    ? `${tool} is not available here.`
    : `A rule of the user denies this (${rule}). Do not try it in another way.`

export const tooLong = (length: number) =>
  `With ${length} characters, this is too long to be shown to the user, who has to allow it. Do it in smaller steps.`

export function lateAnswer({ ask, verdict, state }: Request): string {
  if (ask.kind !== 'question' || verdict === null) return ''
  if (!verdict.allow)
    return state === 'expired'
      ? `[Gateway: nobody answered your question "${ask.questions[0]?.question}".]`
      : `[Gateway: your question "${ask.questions[0]?.question}" was not answered. ${verdict.message}]`
  const lines = ask.questions.map(({ question }) => `${question}\n${verdict.answers?.[question] ?? ''}`)
  return `[Gateway: the answer to your question:]\n${lines.join('\n\n')}`
}

/** For the agent, whose session ends with an unfinished call. */
export function noteOf({ ask, state, verdict }: Request): string {
  const what =
    ask.kind === 'tool'
      ? `to use ${ask.use.tool}: ${gist(ask.use.work)}`
      : ask.kind === 'plan'
        ? 'to approve your plan'
        : `: ${ask.questions[0]?.question}`
  const before = `[Gateway: before the interruption you asked ${what}`
  if (state === 'open')
    return `${before}. There is no answer yet, and nothing of it was done. If you still need it, ask again in exactly the same way.]`
  if (verdict?.allow)
    return `${before}. It was allowed meanwhile, but not done yet. Do it now in exactly the same way; it is allowed once.]`
  return `${before}. It was not allowed, and nothing of it was done. ${verdict?.message ?? ''}]`
}

export function shown(ask: Ask, show: (text: string) => string): ShownAsk {
  switch (ask.kind) {
    case 'tool':
      return { kind: 'tool', use: shownUse(ask.use, text => revealed(show(text))) }
    case 'plan':
      return { kind: 'plan', plan: show(ask.plan) }
    case 'question':
      return { kind: 'question', questions: ask.questions.map(one => shownQuestion(one, show)) }
    default:
      return ask satisfies never
  }
}

const shownQuestion = (
  { question, header, options, multiple }: Question,
  show: (text: string) => string,
): Question => ({
  question: show(question),
  header: show(header),
  options: options.map(({ label, description }) => ({ label: show(label), description: show(description) })),
  multiple,
})

/** People answered what they saw; the agent gets the answers under its own words. */
export function inItsWords(ask: Ask, verdict: Verdict | null, { ask: seen }: Request): Verdict | null {
  if (ask.kind !== 'question' || seen.kind !== 'question' || !verdict?.allow) return verdict
  const answers = ask.questions.map(({ question }, i) => [
    question,
    verdict.answers?.[seen.questions[i]?.question ?? ''] ?? '',
  ])
  return { allow: true, answers: Object.fromEntries(answers) }
}

const units: readonly (readonly [number, string])[] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
]

export function inWords(ms: number): string {
  const [unit, name] = units.find(([one]) => ms >= one) ?? [1000, 'second']
  const n = Math.round(ms / unit)
  return `${n} ${name}${n === 1 ? '' : 's'}`
}
