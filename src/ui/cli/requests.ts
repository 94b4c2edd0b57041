// Requests of agents on a terminal: parsed at the edge, and shown whole, with nothing in them that a person could not see.
import * as v from 'valibot'
import type { Request } from '../../base/requests.ts'
import { revealed } from '../../base/scrub.ts'
import type { Work } from '../../base/tool-use.ts'
import { renderDiff } from './diff.ts'
import type { Paint } from './terminal.ts'

const work = v.variant('kind', [
  v.object({ kind: v.literal('command'), command: v.string() }),
  v.object({ kind: v.literal('edit'), path: v.string(), diff: v.string() }),
  v.object({ kind: v.literal('read'), path: v.string() }),
  v.object({ kind: v.literal('search'), query: v.string(), path: v.nullable(v.string()) }),
  v.object({ kind: v.literal('fetch'), url: v.string() }),
  v.object({
    kind: v.literal('todo'),
    items: v.array(v.object({ text: v.string(), state: v.picklist(['open', 'active', 'done']) })),
  }),
  v.object({ kind: v.literal('other'), input: v.string() }),
])
const question = v.object({
  question: v.string(),
  header: v.string(),
  multiple: v.boolean(),
  options: v.array(v.object({ label: v.string(), description: v.string() })),
})

/** Without where it is shown. */
export type ShownRequest = Omit<Request, 'place' | 'replyTo' | 'lasting'>

export const requestSchema: v.GenericSchema<unknown, ShownRequest> = v.object({
  ...{ id: v.number(), at: v.number(), event: v.number(), lane: v.string(), key: v.string(), source: v.string() },
  ...{ backend: v.string(), folder: v.string(), person: v.nullable(v.string()), owner: v.boolean() },
  ask: v.variant('kind', [
    v.object({ kind: v.literal('tool'), use: v.object({ tool: v.string(), work }) }),
    v.object({ kind: v.literal('question'), questions: v.array(question) }),
    v.object({ kind: v.literal('plan'), plan: v.string() }),
  ]),
  rule: v.nullable(v.string()),
  state: v.picklist(['open', 'allowed', 'denied', 'expired', 'withdrawn']),
  answeredBy: v.nullable(v.string()),
  answeredAt: v.nullable(v.number()),
  verdict: v.nullable(
    v.variant('allow', [
      v.object({ allow: v.literal(true), answers: v.exactOptional(v.record(v.string(), v.string())) }),
      v.object({ allow: v.literal(false), message: v.string() }),
    ]),
  ),
  always: v.nullable(v.picklist(['conversation', 'project', 'everywhere'])),
})

const titles: Readonly<Record<Work['kind'], string>> = {
  command: 'run this command',
  edit: 'change this file',
  read: 'read this file',
  search: 'search for this',
  fetch: 'open this address',
  todo: 'change the to-do list',
  other: 'use this tool',
}

/** `claude wants to run this command`. */
export function titleOf({ ask, backend }: ShownRequest): string {
  if (ask.kind === 'question') return `${backend} asks`
  return `${backend} wants to ${ask.kind === 'plan' ? 'carry out this plan' : titles[ask.use.work.kind]}`
}

/** For one line: the command, the file, the question. */
export function gistOf({ ask }: ShownRequest): string {
  if (ask.kind === 'question') return revealed(ask.questions.map(one => one.question).join(' '))
  if (ask.kind === 'plan') return revealed(ask.plan.trim().split('\n')[0] ?? '')
  const [first = ''] = textsOf(ask.use.work)
  return revealed(first)
}

const outcomes = {
  tool: { allowed: 'allowed once', denied: 'denied' },
  question: { allowed: 'answered', denied: 'not answered' },
  plan: { allowed: 'approved', denied: 'kept planning' },
} as const
const others = { open: 'waiting', expired: 'expired, nobody answered', withdrawn: 'not needed any more' } as const
const scopes = { conversation: 'in this conversation', project: 'in this project', everywhere: 'everywhere' } as const

/** `allowed once by owner`. */
export function outcomeOf({ ask, state, always, answeredBy }: ShownRequest): string {
  const how = state === 'allowed' || state === 'denied' ? outcomes[ask.kind][state] : others[state]
  const said = always === null ? how : `always allowed ${scopes[always]}`
  return answeredBy === null ? said : `${said} by ${answeredBy}`
}

/** Everything that somebody who answers must know, in lines. */
export function renderRequest(request: ShownRequest, paint: Paint): readonly string[] {
  const { id, ask, folder, backend, owner, person, source, rule, state, verdict, lane, event } = request
  const tool = ask.kind === 'tool' ? [`tool ${ask.use.tool}`] : []
  const whose = owner ? 'you' : (person ?? source)
  return [
    `${paint('bold', `Request ${id}: ${titleOf(request)}`)}${state === 'open' ? '' : ` (${outcomeOf(request)})`}`,
    ...detailOf(request, paint),
    paint(
      'dim',
      revealed([...tool, `folder ${folder}`, `for ${whose}`, `${lane}, event ${event}, ${backend}`].join(' · ')),
    ),
    ...(rule === null || state !== 'open' ? [] : [paint('dim', revealed(`always would add the rule ${rule}`))]),
    ...(verdict?.allow === false ? [revealed(verdict.message)] : []),
    ...Object.entries(verdict?.allow ? (verdict.answers ?? {}) : {}).map(([asked, answer]) =>
      revealed(`${asked} ${answer}`),
    ),
  ]
}

function detailOf({ ask }: ShownRequest, paint: Paint): readonly string[] {
  if (ask.kind === 'plan') return indented(ask.plan)
  if (ask.kind === 'question')
    return ask.questions.flatMap(({ question, options, multiple }) => [
      `    ${paint('cyan', revealed(question))}${multiple ? ' (several are possible)' : ''}`,
      ...options.map(({ label, description }, i) =>
        revealed(`    ${i + 1}. ${label}${description === '' ? '' : `: ${description}`}`),
      ),
    ])
  const { work } = ask.use
  if (work.kind === 'edit') return [...indented(work.path), ...renderDiff(revealed(work.diff), paint)]
  return textsOf(work).flatMap(indented)
}

const indented = (text: string): readonly string[] =>
  revealed(text.trimEnd())
    .split('\n')
    .map(line => `    ${line}`)

function textsOf(work: Work): readonly string[] {
  switch (work.kind) {
    case 'command':
      return [work.command]
    case 'edit':
    case 'read':
      return [work.path]
    case 'search':
      return [work.query, ...(work.path === null ? [] : [work.path])]
    case 'fetch':
      return [work.url]
    case 'todo':
      return [work.items.map(({ text, state }) => `[${state === 'done' ? 'x' : ' '}] ${text}`).join('\n')]
    case 'other':
      return [work.input]
    default:
      return work satisfies never
  }
}
