// Hooks: what the agent does when the gateway starts and stops, and around each of its turns. Written in agents.md.
import type { Hook } from '../base/event.ts'
import { type HookTrouble, readSection, type Told } from './entry.ts'

export type HookName = Hook['name']

export const hookNames = ['startup', 'shutdown', 'agent_begin', 'agent_stop'] as const satisfies readonly HookName[]

export interface Hooks {
  readonly hooks: Readonly<Partial<Record<HookName, Told>>>
  readonly troubles: readonly HookTrouble[]
}

export function readHooks(agentsMarkdown: string): Hooks {
  const { found, troubles } = readSection(agentsMarkdown, 'Hooks', [], (entry, told) => {
    const name = hookNames.find(known => known === entry.name.trim().toLowerCase())
    if (name !== undefined) return { ok: true, value: { name, told } }
    return { ok: false, why: `There is no such hook. The hooks are ${hookNames.join(', ')}.` }
  })
  return { hooks: Object.fromEntries([...found.values()].map(({ name, told }) => [name, told])), troubles }
}
