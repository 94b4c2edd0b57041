// What wakes the agent besides people: time, programs, the life of the gateway itself; and what the agent says by a file.
import { backendNames } from '../base/agent.ts'
import type { ChatAdapter, Letter } from '../base/chat.ts'
import type { EventSink, EventSource, Hook, NewEvent, Place, Wish } from '../base/event.ts'
import type { Jobs } from '../base/jobs.ts'
import type { Lanes } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import type { ReceiveWebhook } from '../base/webhook.ts'
import { openJobs, readAgentsFile } from '../clock/index.ts'
import { openOutbound, openWebhooks, readHooks } from '../hooks/index.ts'
import type { Budget } from '../intake/index.ts'
import { piecesFor, withFilesNamed } from '../send/index.ts'
import { byHand, type Database, doerCalling, type Keeper, openMarks } from '../store/index.ts'
import type { LiveConfig } from './live.ts'
import { runShell } from './shell.ts'

export interface WakingParts {
  readonly live: LiveConfig
  readonly db: Database
  readonly clock: Clock
  readonly tell: Tell
  readonly inbox: Lanes<NewEvent>
  readonly outbox: Lanes<Letter>
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly accept: EventSink
  readonly budget: Budget
  readonly keeper: Pick<Keeper, 'approved' | 'edit'>
  placeOf(channel: string | null): Place | null
  /** A variable of the environment, for the secrets of webhooks. */
  variable(name: string): string | null
  broke(error: unknown): void
}

export interface Waking {
  readonly jobs: Jobs
  readonly clockSource: EventSource
  readonly webhook: ReceiveWebhook
  /** Sends what is dropped in ipc/outbound, until the signal. */
  outbound(signal: AbortSignal): Promise<void>
  /** What agents.md wants done then; null: nothing. */
  hook(name: Hook['name']): Promise<NewEvent | null>
}

export function openWaking(parts: WakingParts): Waking {
  const { live, clock, tell, inbox, outbox, chats, accept, budget, keeper, placeOf, broke } = parts
  const { configDir } = live.current()
  const agentsFile = async () => {
    const approved = keeper.approved('agents.md')
    return approved === undefined ? readAgentsFile(configDir) : (approved ?? '')
  }

  const { jobs, source } = openJobs({
    dir: configDir,
    clock,
    zone: () => live.current().timezone,
    marks: openMarks(parts.db, clock),
    tell,
    run: (command, signal) => runShell(command, configDir, signal),
    // Whoever may write the schedule could otherwise run anything, whatever its tools.
    noCommands: () =>
      live.current().allowedTools.includes('Bash')
        ? null
        : 'a command is run only with Bash in ALLOWED_TOOLS; name a file or an address instead.',
    busy: inbox.isBusy,
    placeOf,
    isReached: ({ chat }) => chats.has(chat),
    keeper: {
      approved: keeper.approved,
      edit: (file, by, change) => keeper.edit(file, by ? doerCalling(by) : byHand, change),
    },
    broke,
  })
  const hooksIn = onceFor(readHooks)
  const troubles = new Set<string>()

  return {
    jobs,
    clockSource: {
      name: source.name,
      run: (_, signal) =>
        // Asked here as well, so that what is tried again and again is not counted each time as received.
        source.run(async event => (budget.objection(event) === null ? accept(event) : overBudget), signal),
    },
    webhook: openWebhooks({
      read: agentsFile,
      secret: parts.variable,
      accept,
      placeOf,
      wishOf,
      tell,
      now: clock.now,
    }).receive,
    outbound: openOutbound({
      workspace: configDir,
      async put(key, { place, text, files }) {
        const letter: Letter = { place, kind: 'final', about: null, text, ok: true, files }
        const put = await outbox.put(`${place.chat}:${place.conversation}`, key, letter)
        if (put.type === 'refused') throw new Error('the outbox takes nothing now')
      },
      // Of what is moved to sent/ nobody looks any more whether it could be sent.
      placeOf(channel) {
        const place = placeOf(channel)
        return place && chats.has(place.chat) ? place : null
      },
      split(place, text, files) {
        const limits = chats.get(place.chat)?.limits ?? null
        const whole = withFilesNamed(text, files, limits)
        // Files alone are a message too.
        return whole.trim() === '' ? [''] : piecesFor(whole, limits)
      },
      tell,
      clock,
    }).run,
    async hook(name) {
      const { hooks, troubles: found } = hooksIn(await agentsFile())
      for (const { file, name: hook, why } of found) {
        const text = `${hook}: ${why}`
        if (!troubles.has(text)) tell({ type: 'workspace-trouble', file, why: text })
        troubles.add(text)
      }
      const told = hooks[name]
      if (!told) return null
      const { instruction, channel, model } = told
      const event: NewEvent = {
        key: `hook:${name}@${clock.now()}`,
        lane: `hook:${name}`,
        what: { kind: 'hook', name, instruction },
        replyTo: placeOf(channel),
        source: 'hook',
        ...(model === null ? {} : { wish: wishOf(model) }),
      }
      // Only startup comes by the intake, which would ask.
      return budget.objection(event) === null ? event : null
    },
  }
}

const overBudget = {
  type: 'refused',
  why: 'over-budget',
  reason: 'What may be spent on this today is spent, so jobs pause until tomorrow.',
} as const

/** `opus`, or `codex/gpt-5` where the first word is a backend. */
function wishOf(model: string): Wish {
  const [first = '', ...rest] = model.split('/')
  const backend = backendNames.find(name => name === first)
  if (backend === undefined) return { backend: null, model }
  return { backend, model: rest.join('/') || null }
}

/** The file is read with every turn and changes seldom. */
function onceFor<Made>(make: (text: string) => Made): (text: string) => Made {
  let last: { readonly text: string; readonly made: Made } | null = null
  return text => {
    if (last?.text !== text) last = { text, made: make(text) }
    return last.made
  }
}
