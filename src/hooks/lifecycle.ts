// Lifecycle hooks: what the agent does when the gateway starts and stops, and around each turn. Defined in agents.md and boot.md.

import { createHash } from 'node:crypto'
import type { EventSink, Hook, NewEvent, Place } from '../base/event.ts'
import type { Lanes, Outcome, Taken } from '../base/lanes.ts'
import { parseModelOverride } from '../base/model-override.ts'
import type { Emit } from '../base/signal.ts'
import { type CommonFields, type HookTrouble, readSection } from './entry.ts'

export type HookName = Hook['name']

export const hookNames = ['startup', 'shutdown', 'agent_begin', 'agent_stop'] as const satisfies readonly HookName[]

export interface Hooks {
  readonly hooks: Readonly<Partial<Record<HookName, CommonFields>>>
  readonly troubles: readonly HookTrouble[]
}

export function readHooks(agentsMarkdown: string): Hooks {
  const { found, troubles } = readSection(agentsMarkdown, 'Hooks', [], (entry, common) => {
    const name = hookNames.find(known => known === entry.name.trim().toLowerCase())
    if (name !== undefined) return { ok: true, value: { name, common } }
    return { ok: false, why: `There is no such hook. The hooks are ${hookNames.join(', ')}.` }
  })
  return { hooks: Object.fromEntries([...found.values()].map(({ name, common }) => [name, common])), troubles }
}

/** `at` makes each occurrence a separate event. */
export const hookEvent = (
  name: HookName,
  { instruction, model }: CommonFields,
  at: number,
  replyTo: Place | null,
): NewEvent => ({
  key: `hook:${name}@${at}`,
  lane: `hook:${name}`,
  what: { kind: 'hook', name, instruction },
  replyTo,
  source: 'hook',
  ...(model === null ? {} : { modelOverride: parseModelOverride(model) }),
})

export interface LifecycleParts {
  /** Reads agents.md. */
  read(): Promise<string>
  placeOf(channel: string | null): Place | null
  /** Whether the budget allows it. Most hooks bypass the intake, which would check. */
  isAllowed(event: NewEvent): boolean
  emit: Emit
  now(): number
}

/** The event for this hook. Null if agents.md defines none. */
export type Lifecycle = (name: HookName) => Promise<NewEvent | null>

export function createLifecycle({ read, placeOf, isAllowed, emit, now }: LifecycleParts): Lifecycle {
  const troubles = new Set<string>()
  /** The file is read with every turn and changes seldom. */
  let last: { readonly text: string; readonly found: Hooks } | null = null
  return async name => {
    const text = await read()
    if (last?.text !== text) last = { text, found: readHooks(text) }
    const { found } = last
    for (const { file, name: hook, why } of found.troubles) {
      const words = `${hook}: ${why}`
      if (!troubles.has(words)) emit({ type: 'workspace-trouble', file, why: words })
      troubles.add(words)
    }
    const common = found.hooks[name]
    if (!common) return null
    const event = hookEvent(name, common, now(), placeOf(common.channel))
    return isAllowed(event) ? event : null
  }
}

// The instructions of boot.md: queued at each start until they have succeeded once, then never again.

export interface InitialisingParts {
  /** Which instructions are done, by their digest. */
  readonly store: { isDone(digest: string): boolean; done(digest: string): Promise<void> }
  readonly inbox: Pick<Lanes<NewEvent>, 'isBusy'>
  readonly accept: EventSink
  /** Null if boot.md has none. */
  instructions(): Promise<string | null>
  placeOf(channel: null): Place | null
  now(): number
}

type Take = (taken: Taken<NewEvent>, signal: AbortSignal) => Promise<Outcome>

const lane = 'hook:boot'

export function createBootTask({ store, inbox, accept, instructions, placeOf, now }: InitialisingParts) {
  return {
    /** Null if there is nothing to do. */
    async begin(): Promise<'queued' | 'refused' | null> {
      const instruction = await instructions()
      // An interrupted run is resumed by the queue itself.
      if (instruction === null || store.isDone(digestOf(instruction)) || inbox.isBusy(lane)) return null
      const put = await accept({
        ...{ key: `${lane}@${now()}`, lane, replyTo: placeOf(null), source: 'hook' },
        what: { kind: 'hook', name: 'boot', instruction },
      })
      return put.type === 'refused' ? 'refused' : 'queued'
    },
    listen:
      (take: Take): Take =>
      async (taken, signal) => {
        const outcome = await take(taken, signal)
        const { what } = taken.item
        if (what.kind === 'hook' && what.name === 'boot' && outcome.type === 'done')
          await store.done(digestOf(what.instruction))
        return outcome
      },
  }
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
