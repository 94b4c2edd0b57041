// Lifecycle hooks: what the agent does when the gateway starts and stops, and around each turn. Defined in agents.md.
import type { Hook, NewEvent, Place } from '../base/event.ts'
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
