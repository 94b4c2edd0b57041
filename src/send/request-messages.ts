// Requests of agents as messages with buttons in chats, and what the clicks on them mean.
import type { HandleClick } from '../base/buttons.ts'
import type { Button, ChatAdapter, ClickReply, Delivery } from '../base/chat.ts'
import { type Place, placeName } from '../base/event.ts'
import type { Lanes } from '../base/lanes.ts'
import {
  type Decision,
  type DecisionResult,
  type Request,
  type RequestsAdmin,
  requestMessageKey,
} from '../base/requests.ts'
import type { Signal } from '../base/signal.ts'
import type { Question, Work } from '../base/tool-use.ts'
import { piecesFor } from './deliveries.ts'

export interface RequestMessageParts {
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly outbox: Pick<Lanes<Delivery>, 'put'>
  readonly requests: RequestsAdmin
  /** Ids of people who may answer besides the owners, with their chat. */
  approvers(): readonly string[]
  broke(error: unknown): void
}

/** The first part of the ids of our buttons. */
export const requestButtons = 'request'

export function createRequestMessages({ chats, outbox, requests, approvers, broke }: RequestMessageParts) {
  /** A known key is not sent again, so this may be repeated after a restart. */
  async function send(place: Place, key: string, text: string, more: Partial<Delivery> = {}): Promise<void> {
    const pieces = piecesFor(text, chats.get(place.chat)?.limits ?? null)
    for (const [i, piece] of pieces.entries()) {
      const isLast = i === pieces.length - 1
      const delivery: Delivery = { place, kind: 'final', about: null, text: piece, ok: true, ...(isLast ? more : {}) }
      await outbox.put(placeName(place), isLast ? key : `${key}-${i}`, delivery)
    }
  }

  /** WebChat shows cards instead. */
  const placeOf = ({ place }: Request): Place | null =>
    place && chats.get(place.chat)?.limits.buttons === true ? place : null

  async function announce(request: Request): Promise<void> {
    const place = placeOf(request)
    if (place)
      await send(place, requestMessageKey(request.id, 'asked'), wordsOf(request), { buttons: buttonsOf(request) })
  }

  async function conclude(request: Request): Promise<void> {
    const place = placeOf(request)
    const text = `${summaryOf(request)}\n${outcomeOf(request)}`
    if (place)
      await send(place, requestMessageKey(request.id, 'settled'), text, {
        replaces: requestMessageKey(request.id, 'asked'),
      })
  }

  async function remind(request: Request): Promise<void> {
    const place = placeOf(request)
    if (place)
      await send(
        place,
        requestMessageKey(request.id, 'reminder'),
        `Still waiting for your answer. ${summaryOf(request)}`,
      )
  }

  async function decide(id: number, decision: Decision, by: string): Promise<ClickReply> {
    const result = await requests.decide(id, decision, by)
    // After a kill, the message may still have its buttons.
    if (result.type === 'late') await conclude(result.request)
    return replyTo(result)
  }

  const handle: HandleClick = async ({ button, name, text, sender }, who) => {
    const [, written = '', what = ''] = button.split(':')
    const request = requests.find(Number(written))
    if (request === null) return note('This request does not exist any more.')
    const isOwner = who === 'owner'
    if (!isOwner && !approvers().includes(`${sender.chat}:${sender.user}`))
      return note('Only the owner may answer this. Your click changed nothing.')
    // The answer to a question is read as the words of the owner.
    if (!isOwner && request.ask.kind !== 'tool')
      return note('Only the owner may answer this. Your click changed nothing.')
    const meaning = meaningOf(request, what, text)
    if (typeof meaning === 'string') return note(meaning)
    if ('type' in meaning)
      return request.state === 'open' ? meaning : decide(request.id, { allow: false, message: '' }, name)
    if (meaning.allow && meaning.always && !isOwner)
      return note('Only the owner may allow something for always. Your click changed nothing.')
    return decide(request.id, meaning, name)
  }

  return {
    handle,
    listen(signal: Signal): void {
      if (signal.type === 'request-opened') announce(signal.request).catch(broke)
      if (signal.type === 'request-reminder') remind(signal.request).catch(broke)
      if (signal.type === 'request-settled') conclude(signal.request).catch(broke)
    },
    /** At the start: a kill may have come between a request and its message. */
    async announceAll(open: readonly { readonly id: number }[]): Promise<void> {
      for (const { id } of open) {
        const request = requests.find(id)
        if (request) await announce(request)
      }
    },
  }
}

const note = (text: string): ClickReply => ({ type: 'note', text })

function buttonsOf({ id, ask, rule }: Request): readonly Button[] {
  const button = (what: string, label: string, style?: Button['style']): Button => ({
    ...{ id: `${requestButtons}:${id}:${what}`, label },
    ...(style && { style }),
  })
  switch (ask.kind) {
    case 'tool':
      return [
        button('once', 'Allow once', 'primary'),
        ...(rule === null ? [] : [button('here', 'Always here'), button('everywhere', 'Always everywhere')]),
        ...[button('deny', 'Deny', 'danger'), button('why', 'Deny with a reason')],
      ]
    case 'plan':
      return [button('once', 'Approve', 'primary'), button('why', 'Keep planning')]
    case 'question':
      return [
        ...choicesOf(ask.questions).map(({ label }, i) => button(`option${i}`, excerpt(label, longestLabel))),
        ...[button('answer', 'Answer in words'), button('deny', 'Do not answer', 'danger')],
      ]
    default:
      return ask satisfies never
  }
}

const longestLabel = 40
const mostChoices = 8

/** A single question with few options can be answered with one click. */
function choicesOf(questions: readonly Question[]): Question['options'] {
  const [first, ...others] = questions
  return first && others.length === 0 && !first.multiple && first.options.length <= mostChoices ? first.options : []
}

/** What a click means; a reply that asks for words first; or why it means nothing. */
function meaningOf({ ask }: Request, what: string, text: string | null): Decision | ClickReply | string {
  switch (what) {
    case 'once':
      return { allow: true }
    case 'here':
      return { allow: true, always: 'conversation' }
    case 'everywhere':
      return { allow: true, always: 'everywhere' }
    case 'deny':
      return { allow: false, message: '' }
    case 'why': {
      const title = ask.kind === 'plan' ? 'Keep planning' : 'Deny with a reason'
      return text === null
        ? { type: 'ask', title, label: 'What should the agent know?' }
        : { allow: false, message: text }
    }
    case 'answer':
      if (ask.kind !== 'question') return 'This is not a question.'
      return text === null
        ? { type: 'ask', title: 'Answer', label: howToAnswer(ask.questions) }
        : inWords(ask.questions, text)
    default: {
      const [only] = ask.kind === 'question' ? ask.questions : []
      const option = only?.options[Number(what.slice('option'.length))]
      if (!only || !option) return 'This button no longer does anything.'
      return { allow: true, answers: { [only.question]: option.label } }
    }
  }
}

const howToAnswer = (questions: readonly Question[]) =>
  questions.length === 1 ? 'Your answer' : `One line for each of the ${questions.length} questions`

/** One line for each question; a number stands for its option. */
function inWords(questions: readonly Question[], text: string): Decision | string {
  const lines =
    questions.length === 1
      ? [text.trim()]
      : text
          .split('\n')
          .map(line => line.trim())
          .filter(Boolean)
  if (lines.length !== questions.length || lines.includes('')) return `${howToAnswer(questions)}, please.`
  const answers = questions.map(({ question, options }, i) => {
    const line = lines[i] ?? ''
    return [question, /^\d+$/.test(line) ? (options[Number(line) - 1]?.label ?? line) : line]
  })
  return { allow: true, answers: Object.fromEntries(answers) }
}

function replyTo(result: DecisionResult): ClickReply {
  switch (result.type) {
    case 'answered':
      return { type: 'done' }
    case 'late':
      return note(outcomeOf(result.request))
    case 'unknown':
      return note('This request does not exist any more.')
    case 'refused':
      return note(result.why)
    default:
      return result satisfies never
  }
}

/** The whole request: nobody should allow what they cannot see. */
function wordsOf(request: Request): string {
  const { ask, folder, rule } = request
  const always = rule === null ? '' : `\n“Always” adds the rule \`${rule}\`.`
  switch (ask.kind) {
    case 'tool':
      return `${summaryOf(request)}\n${blockOf(ask.use.work)}\nin \`${folder}\`${always}`
    case 'plan':
      return `${summaryOf(request)}\n\n${ask.plan}`
    case 'question':
      return `${summaryOf(request)}\n\n${ask.questions.map(listed).join('\n\n')}`
    default:
      return ask satisfies never
  }
}

const listed = ({ question, options, multiple }: Question): string =>
  [
    `${question}${multiple ? ' (several are possible)' : ''}`,
    ...options.map(({ label, description }, i) => `${i + 1}. ${label}${description === '' ? '' : `: ${description}`}`),
  ].join('\n')

function summaryOf({ ask, backend, source, owner, person }: Request): string {
  const whose = owner
    ? source === 'webchat' || person !== null
      ? ''
      : ` (${source})`
    : ` for a guest (${person ?? source})`
  switch (ask.kind) {
    case 'tool':
      return `🔐 **${backend} asks to use ${ask.use.tool}**${whose}`
    case 'plan':
      return `📋 **${backend} has a plan**${whose}`
    case 'question':
      return `❓ **${backend} has a question**${whose}`
    default:
      return ask satisfies never
  }
}

function blockOf(work: Work): string {
  switch (work.kind) {
    case 'command':
      return fenced('sh', work.command)
    case 'edit':
      return `${fenced('', work.path)}\n${fenced('diff', work.diff)}`
    case 'read':
      return fenced('', work.path)
    case 'search':
      return fenced('', work.path === null ? work.query : `${work.query}\nin ${work.path}`)
    case 'fetch':
      return fenced('', work.url)
    case 'todo':
      return work.items.map(({ text, state }) => `- [${state === 'done' ? 'x' : ' '}] ${text}`).join('\n')
    case 'other':
      return fenced('json', work.input)
    default:
      return work satisfies never
  }
}

/** With a fence longer than any in the text, so that nothing in it can end the block. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}

function outcomeOf({ state, answeredBy, always, rule, verdict }: Request): string {
  const by = answeredBy === null ? '' : ` by ${answeredBy}`
  switch (state) {
    case 'open':
      return 'Not answered yet.'
    case 'allowed':
      return always === null ? `✅ Allowed${by}.` : `✅ Allowed${by}, from now on too: \`${rule}\`.`
    case 'denied':
      return `⛔ Denied${by}.${verdict && !verdict.allow && verdict.message.includes(': ') ? ` ${verdict.message.slice(verdict.message.indexOf(': ') + 2)}` : ''}`
    case 'expired':
      return '⌛ Nobody answered in time, so it was denied.'
    case 'withdrawn':
      return 'No longer needed.'
    default:
      return state satisfies never
  }
}

const excerpt = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
