// Commands of the chat: one table for every chat. They are answered the moment they come, also while a turn runs.
import type { BudgetView } from '../base/budget.ts'
import type { LaneKey } from '../base/event.ts'
import type { CommandFrom, CommandRequest, CommandRow } from './command.ts'
import { type CronParts, cronRow } from './cron-command.ts'
import { type MemoryParts, memoryRow } from './memory-command.ts'
import { type SubAgentsParts, subagentsRow } from './subagents.ts'

export interface CommandParts extends SubAgentsParts, CronParts, MemoryParts {
  readonly backends: readonly string[]
  /** Who answers this conversation; null: its own default. */
  answering(lane: LaneKey): { readonly backend: string; readonly model: string | null }
  /** Null: as it is for all. */
  choose(lane: LaneKey, choice: { readonly backend: string | null; readonly model: string | null }): Promise<void>
  /** Whether a backend can answer here; if not, `detail` says what to do. */
  check(backend: string): Promise<{ readonly ok: boolean; readonly detail: string }>
  /** Forgets what was said so far. */
  beginAnew(lane: LaneKey): Promise<void>
  stop(lane: LaneKey): boolean
  waiting(lane: LaneKey): Promise<readonly { readonly position: number; readonly text: string }[]>
  status(): {
    readonly uptimeMs: number
    readonly events: {
      readonly waiting: number
      readonly running: number
      readonly answered: number
      readonly failed: number
    }
  }
  /** Reads the configuration again; what came of it, in words. */
  reload(): Promise<string>
  usage(): { readonly today: readonly Spent[]; readonly month: readonly Spent[]; readonly budget: BudgetView | null }
}

export interface Spent {
  readonly backend: string
  readonly model: string | null
  readonly turns: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number | null
}

export type Heard =
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'command'; answer(from: CommandFrom): Promise<string> }

/** What a text is: a command of ours, or something for the agent. A slash that we do not know belongs to the text. */
export function openCommands(parts: CommandParts): { hear(text: string): Heard; readonly list: readonly CommandRow[] } {
  const list = commandTable(parts)
  return {
    list,
    hear(text) {
      const [, name = '', rest = ''] = /^\s*\/([a-z][a-z-]*)(?:\s+([\s\S]*))?$/i.exec(text) ?? []
      const row = list.find(({ names }) => names.includes(name.toLowerCase()))
      if (!row) return { type: 'message', text }
      const { answer, ownerOnly } = row
      if (answer === null)
        return rest.trim() === ''
          ? { type: 'command', answer: async () => `Write what you want to ask behind it: /${name} …` }
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
    { names: ['ask', 'claude'], takes: 'PROMPT', about: 'Ask the agent, as a plain message does.', answer: null },
    {
      names: ['new', 'claude-reset'],
      about: 'Begin a new conversation: what was said so far is forgotten.',
      async answer({ lane }) {
        await parts.beginAnew(lane)
        return 'A new conversation begins here.'
      },
    },
    {
      names: ['stop'],
      about: 'Stop the answer that is being written.',
      answer: async ({ lane }) => (parts.stop(lane) ? 'Stopping.' : 'Nothing is running in this conversation.'),
    },
    {
      names: ['queue'],
      about: 'List the messages that wait.',
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
      answer: async ({ lane }) => statusOf(parts.status(), parts.answering(lane)),
    },
    { names: ['usage'], about: 'Show what was used today and this month.', answer: async () => usageOf(parts.usage()) },
    subagentsRow(parts),
    cronRow(parts),
    memoryRow(parts),
    {
      names: ['reload'],
      ownerOnly: true,
      about: 'Read the configuration again, and say what changed.',
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

async function chooseBackend(parts: CommandParts, { lane, rest }: CommandRequest): Promise<string> {
  const known = `Known are: ${parts.backends.join(', ')}.`
  if (rest === '') return `This conversation is answered by ${whoAnswers(parts.answering(lane))}. ${known}`
  if (rest === 'default') {
    await parts.choose(lane, { backend: null, model: null })
    return `From the next message on: ${whoAnswers(parts.answering(lane))}.`
  }
  const [name = '', ...model] = rest.split('/')
  if (!parts.backends.includes(name)) return `There is no backend called "${name.slice(0, 40)}". ${known}`
  const { ok, detail } = await parts.check(name)
  if (!ok) return `Not changed. ${detail}`
  await parts.choose(lane, { backend: name, model: model.join('/') || null })
  return `From the next message on: ${whoAnswers(parts.answering(lane))}. What was said so far is handed over.`
}

async function chooseModel(parts: CommandParts, request: CommandRequest): Promise<string> {
  const { lane, rest } = request
  const now = parts.answering(lane)
  if (rest === '')
    return `This conversation is answered by ${whoAnswers(now)}. Choose with /model NAME, or /model BACKEND/NAME.`
  const [first = ''] = rest.split('/')
  // `opencode/x` is a model of opencode itself; behind any other backend's name stands a model of that one.
  if (parts.backends.includes(first) && first !== now.backend) return chooseBackend(parts, request)
  if (!/^[\w.:/@+[\]-]{1,200}$/.test(rest)) return 'That does not look like the name of a model.'
  await parts.choose(lane, { backend: now.backend, model: rest === 'default' ? null : rest })
  return `From the next message on: ${whoAnswers(parts.answering(lane))}.`
}

function queueOf(waiting: readonly { readonly position: number; readonly text: string }[]): string {
  if (waiting.length === 0) return 'Nothing waits in this conversation.'
  return waiting.map(({ position, text }) => `${position}. ${text.replace(/\s+/g, ' ').slice(0, 80)}`).join('\n')
}

function statusOf(
  { uptimeMs, events }: ReturnType<CommandParts['status']>,
  who: { backend: string; model: string | null },
): string {
  const { running, waiting, answered, failed } = events
  const counts = [`${running} running`, `${waiting} waiting`, `${answered} answered`, `${failed} failed`]
  return `Up for ${duration(uptimeMs)}. This conversation is answered by ${whoAnswers(who)}.\nMessages: ${counts.join(', ')}.`
}

function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.floor(ms / 1000)} s`
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function usageOf({ today, month, budget }: ReturnType<CommandParts['usage']>): string {
  const limit = budget ? [`**Budget**\n${budgetOf(budget)}`] : []
  return [`**Today**\n${sumsOf(today)}`, ...limit, `**Last 30 days**\n${sumsOf(month)}`].join('\n\n')
}

const levels = {
  within: '',
  paused: ' Heartbeats and cron jobs are paused until tomorrow.',
  over: ' Heartbeats and cron jobs are paused, and only the owner is answered, until tomorrow.',
}

function budgetOf({ usd, tokens, level }: BudgetView): string {
  const parts = [
    ...(usd ? [`$${usd.spent.toFixed(2)} of $${usd.of.toFixed(2)}`] : []),
    ...(tokens ? [`${count(tokens.spent)} of ${count(tokens.of)} tokens`] : []),
  ]
  return `${parts.join(', ')} for today.${levels[level]}`
}

function sumsOf(rows: readonly Spent[]): string {
  if (rows.length === 0) return 'nothing'
  return rows
    .map(({ backend, model, turns, inputTokens, outputTokens, costUsd }) => {
      const cost = costUsd === null ? '' : `, $${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`
      const tokens = `${count(inputTokens)} tokens in, ${count(outputTokens)} out`
      return `- ${backend}${model ? ` (${model})` : ''}: ${turns} ${turns === 1 ? 'turn' : 'turns'}, ${tokens}${cost}`
    })
    .join('\n')
}

const count = (n: number) =>
  n < 10_000 ? String(n) : n < 1_000_000 ? `${Math.round(n / 1000)}k` : `${(n / 1e6).toFixed(1)}M`

const helpOf = (list: readonly CommandRow[]) =>
  list.map(({ names, takes, about }) => `- \`/${names[0]}${takes ? ` ${takes}` : ''}\`: ${about}`).join('\n')
