// What the agent asks during a session: shown whole, one after the other, and answered with the next line.
import type { Decision, RuleScope } from '../../../base/requests.ts'
import { ruleScopes } from '../../../base/requests.ts'
import { gistOf, outcomeOf, renderRequest, type ShownRequest } from '../requests.ts'
import type { Paint } from '../terminal.ts'
import { withoutControls } from '../terminal.ts'

export interface AskingParts {
  readonly paint: Paint
  print(text: string): void
  /** What is asked for now, to be put before the cursor; null: nothing. */
  prompt(words: string | null): void
  /** Whether a line is being typed. It is a message, not an answer to what is shown below it. */
  isTyping(): boolean
  /** Resolves with a sentence if it was not accepted, and with null otherwise. */
  decide(id: number, decision: Decision): Promise<string | null>
}

export interface Asking {
  received(request: ShownRequest): void
  /** True: the line was an answer, or a mistake in one. */
  take(line: string): boolean
}

type Answered = { readonly decision: Decision } | { readonly next: readonly string[] } | { readonly help: string }

export function openAsking({ paint, print, prompt, isTyping, decide }: AskingParts): Asking {
  const waiting: ShownRequest[] = []
  let current: ShownRequest | null = null
  /** The answers to the questions so far. */
  let given: readonly string[] = []
  let typedAhead = false

  const showNext = (): void => {
    current = waiting.shift() ?? null
    given = []
    if (current === null) return prompt(null)
    typedAhead = isTyping()
    print(['', ...renderRequest(current, paint), howTo(current, given)].join('\n'))
    prompt(current.ask.kind === 'question' ? 'answer' : 'allow?')
  }

  return {
    received(request) {
      const isKnown = current?.id === request.id || waiting.some(({ id }) => id === request.id)
      if (request.state === 'open') {
        if (isKnown) return
        waiting.push(request)
        if (current === null) showNext()
        return
      }
      if (!isKnown) return
      print(paint('dim', withoutControls(`Request ${request.id}: ${outcomeOf(request)} (${gistOf(request)})`)))
      const place = waiting.findIndex(({ id }) => id === request.id)
      if (place >= 0) waiting.splice(place, 1)
      else showNext()
    },
    take(line) {
      const request = current
      // Commands still work.
      if (request === null || (line.startsWith('/') && line !== '/later' && line !== '/skip')) return false
      if (typedAhead) {
        typedAhead = false
        return false
      }
      if (line === '') return true
      if (line === '/later') {
        print(paint('dim', `Request ${request.id} stays open: npx aetheel approvals show ${request.id}`))
        showNext()
        return true
      }
      const answer = request.ask.kind === 'question' ? answerTo(request, line, given) : verdictIn(request, line)
      if ('help' in answer) print(answer.help)
      else if ('next' in answer) {
        given = answer.next
        print(howTo(request, given))
      } else
        void decide(request.id, answer.decision).then(why => {
          if (why !== null) print(paint('red', withoutControls(why)))
        })
      return true
    },
  }
}

const allowWords = new Set(['a', 'y', 'yes', 'allow', 'approve'])
const denyWords = new Set(['d', 'n', 'no', 'deny'])

function verdictIn(request: ShownRequest, line: string): Answered {
  const [word = '', ...rest] = line.split(/\s+/)
  const said = word.toLowerCase()
  if (allowWords.has(said) && rest.length === 0) return { decision: { allow: true } }
  if (denyWords.has(said)) return { decision: { allow: false, message: line.slice(word.length).trim() } }
  if (said === 'always' && request.rule !== null && rest.length <= 1) {
    const scope = ruleScopes.find(one => one === (rest[0] ?? 'conversation'))
    if (scope) return { decision: { allow: true, always: scope satisfies RuleScope } }
  }
  return { help: `That is not an answer. ${howTo(request, [])}` }
}

function answerTo({ ask }: ShownRequest, line: string, given: readonly string[]): Answered {
  if (ask.kind !== 'question') return { help: '' }
  if (line === '/skip') return { decision: { allow: false, message: 'The question is not answered.' } }
  const question = ask.questions[given.length]
  if (!question) return { help: '' }
  const numbers = /^\d+(?:[\s,]+\d+)*$/.test(line) ? line.split(/[\s,]+/).map(Number) : []
  const labels = numbers.map(n => question.options[n - 1]?.label)
  if (question.options.length > 0 && numbers.length > 0) {
    if (labels.includes(undefined) || (labels.length > 1 && !question.multiple))
      return { help: `Choose from 1 to ${question.options.length}, or write your own answer.` }
  }
  const answer = question.options.length > 0 && labels.length > 0 ? labels.join(', ') : line
  const next = [...given, answer]
  if (next.length < ask.questions.length) return { next }
  return {
    decision: {
      allow: true,
      answers: Object.fromEntries(ask.questions.map((one, i) => [one.question, next[i] ?? ''])),
    },
  }
}

function howTo({ ask, rule }: ShownRequest, given: readonly string[]): string {
  if (ask.kind === 'plan') return 'a approves it, d WORDS goes on planning with your words, /later leaves it open.'
  if (ask.kind === 'tool') {
    const always = rule === null ? '' : 'always [conversation|project|everywhere] adds the rule, '
    return `a allows it once, ${always}d denies it, d WORDS gives the reason, /later leaves it open.`
  }
  const { options, multiple, question } = ask.questions[given.length] ?? { options: [], multiple: false, question: '' }
  const which = ask.questions.length > 1 ? `${withoutControls(question)} ` : ''
  const how =
    options.length === 0 ? 'Write your answer' : `${multiple ? 'Numbers such as 1 2' : 'A number'}, or your own words`
  return `${which}${how}; /skip does not answer, /later leaves it open.`
}
