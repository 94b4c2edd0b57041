// Chat commands: one table for every chat. They are answered immediately, even while a turn is running.

import type { LaneKey } from '../base/event.ts'
import { parseModelOverride } from '../base/model-override.ts'
import type { CommandAnswer, CommandFrom, CommandRequest, CommandRow } from './command.ts'
import { type CronParts, cronRow } from './cron-command.ts'
import { type MemoryParts, memoryRow } from './memory-command.ts'
import { type SubAgentsParts, subagentsRow } from './subagents.ts'
import { type UsageParts, usageRow } from './usage-command.ts'
import { verbosityRow, type WorkParts, workRow } from './work-command.ts'

export interface CommandParts extends SubAgentsParts, CronParts, MemoryParts, UsageParts, WorkParts {
  readonly backends: readonly string[]
  /** The backend and model of this conversation. Model null: the backend's default. */
  answering(lane: LaneKey): { readonly backend: string; readonly model: string | null }
  /** Null: use the default of the gateway. */
  choose(lane: LaneKey, choice: { readonly backend: string | null; readonly model: string | null }): Promise<void>
  /** Whether a backend can answer here; if not, `detail` says what to do. */
  check(backend: string): Promise<{ readonly ok: boolean; readonly detail: string }>
  /** Whether a backend knows a model, and which models it has. Null: it cannot tell before a turn. */
  checkModel(
    backend: string,
    model: string,
  ): Promise<{ readonly known: boolean; readonly has: readonly string[] } | null>
  /** Forgets the conversation so far. */
  startOver(lane: LaneKey): Promise<void>
  stop(lane: LaneKey): boolean
  /** Hands the next waiting message to the running turn. */
  steer(lane: LaneKey): Promise<'steered' | 'nothing' | 'impossible' | 'not-theirs'>
  /** The text of the last message in this conversation; null: there is none. */
  lastText(lane: LaneKey): string | null
  readonly modes: readonly string[]
  mode(lane: LaneKey): { readonly mode: string; readonly own: boolean }
  /** Null: as configured for all conversations. */
  chooseMode(lane: LaneKey, mode: string | null): Promise<void>
  waiting(lane: LaneKey): Promise<readonly { readonly position: number; readonly text: string }[]>
  status(): {
    readonly uptimeMs: number
    readonly events: {
      readonly waiting: number
      readonly running: number
      readonly answered: number
      readonly failed: number
    }
    readonly deliveries: { readonly waiting: number; readonly delayed: number }
    /** Backends in cooldown because they recently failed to answer. */
    readonly resting: readonly { readonly backend: string; readonly why: string; readonly until: number }[]
  }
  /** Reloads the configuration and describes the result. */
  reload(): Promise<string>
}

export type ParsedCommand =
  /** `steer`: it is meant for the turn that is running. */
  | { readonly type: 'message'; readonly text: string; readonly steer?: true }
  | { readonly type: 'command'; answer(from: CommandFrom): Promise<CommandAnswer> }

/** Tells our commands from messages for the agent. An unknown slash command is part of the message. */
export function createCommands(parts: CommandParts): {
  parse(text: string, lane: LaneKey): ParsedCommand
  readonly list: readonly CommandRow[]
} {
  const list = commandTable(parts)
  return {
    list,
    parse(text, lane) {
      const [, name = '', rest = ''] = /^\s*\/([a-z][a-z-]*)(?:\s([\s\S]*))?$/i.exec(text) ?? []
      const row = list.find(({ names }) => names.includes(name.toLowerCase()))
      if (!row) return { type: 'message', text }
      const { answer, ownerOnly } = row
      const message = row.message?.(rest.trim(), lane) ?? null
      if (message !== null) return message
      if (answer === null)
        return rest.trim() === ''
          ? { type: 'command', answer: async () => `Add your question after the command: /${name} …` }
          : { type: 'message', text: rest }
      return {
        type: 'command',
        answer: async from =>
          ownerOnly && !from.author.owner
            ? `/${row.names[0]} is for the owner of this gateway.`
            : answer({ ...from, rest: rest.trim() }),
      }
    },
  }
}

function commandTable(parts: CommandParts): readonly CommandRow[] {
  const list: readonly CommandRow[] = [
    { names: ['ask', 'claude'], takes: 'PROMPT', about: 'Ask the agent. Works like a plain message.', answer: null },
    {
      names: ['new', 'claude-reset'],
      about: 'Start a new conversation. The agent forgets the earlier messages.',
      async answer({ lane }) {
        await parts.startOver(lane)
        return 'Started a new conversation.'
      },
    },
    {
      names: ['stop'],
      about: 'Stop the answer that is being written.',
      answer: async ({ lane }) => (parts.stop(lane) ? 'Stopping.' : 'Nothing is running in this conversation.'),
    },
    {
      names: ['steer'],
      takes: '[TEXT]',
      about: 'Tell the running turn something now. Without a text: the next waiting message.',
      message: rest => (rest === '' ? null : { type: 'message', text: rest, steer: true }),
      answer: async ({ lane }) => steeredWords[await parts.steer(lane)],
    },
    {
      names: ['retry'],
      about: 'Send the last message once more.',
      message(_, lane) {
        const text = parts.lastText(lane)
        return text === null ? null : { type: 'message', text }
      },
      answer: async () => 'There is no message to send again.',
    },
    {
      names: ['continue'],
      about: 'Let the agent continue after a stop or a failure.',
      message: () => ({ type: 'message', text: 'Continue where you stopped.' }),
      answer: null,
    },
    {
      names: ['mode'],
      takes: '[NAME | default]',
      ownerOnly: true,
      about: 'Show or choose what the agent asks for in this conversation.',
      answer: request => chooseMode(parts, request),
    },
    {
      names: ['plan'],
      ownerOnly: true,
      about: 'Plan first: the agent changes nothing before you have approved its plan. /mode default ends it.',
      answer: request => chooseMode(parts, { ...request, rest: 'plan' }),
    },
    {
      names: ['queue'],
      about: 'List the waiting messages.',
      answer: async ({ lane }) => queueOf(await parts.waiting(lane)),
    },
    {
      names: ['model'],
      takes: '[NAME | default]',
      ownerOnly: true,
      about: 'Show or choose the model for this conversation.',
      answer: request => chooseModel(parts, request),
    },
    {
      names: ['backend'],
      takes: '[NAME | default]',
      ownerOnly: true,
      about: 'Show or choose the agent for this conversation.',
      answer: request => chooseBackend(parts, request),
    },
    {
      names: ['status'],
      about: 'Show how the gateway is doing.',
      answer: async ({ lane }) => statusOf(parts.status(), parts.now(), parts.answering(lane)),
    },
    usageRow(parts),
    workRow(parts),
    verbosityRow(parts),
    subagentsRow(parts),
    cronRow(parts),
    memoryRow(parts),
    {
      names: ['reload'],
      ownerOnly: true,
      about: 'Reload the configuration and show what changed.',
      answer: () => parts.reload(),
    },
    {
      names: ['help'],
      about: 'Show these commands.',
      answer: async ({ author }) => helpOf(list.filter(row => author.owner || !row.ownerOnly)),
    },
  ]
  return list
}

const whoAnswers = ({ backend, model }: { backend: string; model: string | null }) =>
  `${backend}, ${model === null ? 'with its default model' : `model ${model}`}`

export const steeredWords = {
  steered: 'Told.',
  nothing: 'No message is waiting in this conversation.',
  impossible:
    'The turn that is running cannot be told anything now. The message waits for its end; /stop makes it go next.',
  'not-theirs': 'The turn that is running is for somebody else. The message waits for its end.',
} as const

async function chooseMode(parts: CommandParts, { lane, rest }: CommandRequest): Promise<string> {
  const known = `Available: ${parts.modes.join(', ')}.`
  const shown = () => {
    const { mode, own } = parts.mode(lane)
    return `${mode}${own ? ' (for this conversation)' : ''}`
  }
  if (rest === '') return `The mode of this conversation is ${shown()}. ${known}`
  if (rest !== 'default' && !parts.modes.includes(rest))
    return `There is no mode called "${rest.slice(0, 40)}". ${known}`
  await parts.chooseMode(lane, rest === 'default' ? null : rest)
  return `From the next message on: ${shown()}.`
}

async function chooseBackend(parts: CommandParts, { lane, rest }: CommandRequest): Promise<string> {
  const known = `Available: ${parts.backends.join(', ')}.`
  if (rest === '') return `This conversation is answered by ${whoAnswers(parts.answering(lane))}. ${known}`
  if (rest === 'default') {
    await parts.choose(lane, { backend: null, model: null })
    return `From the next message on: ${whoAnswers(parts.answering(lane))}.`
  }
  const { backend, model } = parseModelOverride(rest)
  if (backend === null || !parts.backends.includes(backend))
    return `There is no backend called "${rest.slice(0, 40)}". ${known}`
  const { ok, detail } = await parts.check(backend)
  if (!ok) return `Not changed. ${detail}`
  const checked = await checkModel(parts, backend, model)
  if (!checked.ok) return checked.why
  await parts.choose(lane, { backend, model })
  return `From the next message on: ${whoAnswers(parts.answering(lane))}. It receives the conversation so far.${checked.note}`
}

type Checked = { readonly ok: true; readonly note: string } | { readonly ok: false; readonly why: string }

/** A model name that does not exist would fail on the next message and on every one after it. */
async function checkModel(parts: CommandParts, backend: string, model: string | null): Promise<Checked> {
  if (model === null) return { ok: true, note: '' }
  if (!/^[\w.:/@+[\]-]{1,200}$/.test(model)) return { ok: false, why: 'That does not look like a model name.' }
  const found = await parts.checkModel(backend, model)
  if (found === null)
    return {
      ok: true,
      note: ` ${backend} cannot check the model name in advance. If it fails, /model default switches back.`,
    }
  if (found.known) return { ok: true, note: '' }
  const more = found.has.length > mostShown ? `, and ${found.has.length - mostShown} more` : ''
  const has = `It has: ${found.has.slice(0, mostShown).join(', ')}${more}.`
  return { ok: false, why: `Not changed. ${backend} has no model called "${model}". ${has}` }
}

const mostShown = 12

async function chooseModel(parts: CommandParts, request: CommandRequest): Promise<string> {
  const { lane, rest } = request
  const now = parts.answering(lane)
  if (rest === '')
    return `This conversation is answered by ${whoAnswers(now)}. Choose with /model NAME, or /model BACKEND/NAME.`
  const { backend, model } = rest === 'default' ? { backend: null, model: null } : parseModelOverride(rest)
  if (backend !== null && backend !== now.backend) return chooseBackend(parts, request)
  const checked = await checkModel(parts, now.backend, model)
  if (!checked.ok) return checked.why
  await parts.choose(lane, { backend: now.backend, model })
  return `From the next message on: ${whoAnswers(parts.answering(lane))}.${checked.note}`
}

function queueOf(waiting: readonly { readonly position: number; readonly text: string }[]): string {
  if (waiting.length === 0) return 'No messages are waiting in this conversation.'
  return waiting.map(({ position, text }) => `${position}. ${text.replace(/\s+/g, ' ').slice(0, 80)}`).join('\n')
}

function statusOf(
  { uptimeMs, events, deliveries, resting }: ReturnType<CommandParts['status']>,
  now: number,
  who: { backend: string; model: string | null },
): string {
  const { running, waiting, answered, failed } = events
  const counts = [`${running} running`, `${waiting} waiting`, `${answered} answered`, `${failed} failed`]
  const { waiting: unsent, delayed } = deliveries
  const outbox = delayed > 0 ? ` Outbox: ${unsent} waiting, ${delayed} to be retried after a failure.` : ''
  const rests = resting.map(
    ({ backend, why, until }) =>
      `\n${backend} could not answer (${why.replaceAll('-', ' ')}). For the next ${duration(until - now)}, other backends are tried first. /backend ${backend} tries it again immediately.`,
  )
  return `Up for ${duration(uptimeMs)}. This conversation is answered by ${whoAnswers(who)}.\nMessages: ${counts.join(', ')}.${outbox}${rests.join('')}`
}

function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const helpOf = (list: readonly CommandRow[]) =>
  list.map(({ names, takes, about }) => `- \`/${names[0]}${takes ? ` ${takes}` : ''}\`: ${about}`).join('\n')
