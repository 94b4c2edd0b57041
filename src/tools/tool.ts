// How a tool is defined: its fields are declared once, and the types of its arguments are derived from them.
import { createHash } from 'node:crypto'
import type { Caller, Tool, ToolAnswer, ToolField } from '../base/tools.ts'

type Takes = Readonly<Record<string, ToolField>>
type Types = { string: string; integer: number; boolean: boolean; strings: readonly string[] }

/** As validated by the tool server. */
export type ArgumentsOf<T extends Takes> = {
  readonly [Name in keyof T]: T[Name] extends { required: true }
    ? Types[T[Name]['type']]
    : Types[T[Name]['type']] | undefined
}

interface Described<T extends Takes> extends Omit<Tool, 'takes' | 'call'> {
  readonly takes: T
  call(args: ArgumentsOf<T>, caller: Caller, signal: AbortSignal): Promise<ToolAnswer>
}

export const tool = <const T extends Takes>({ call, ...rest }: Described<T>): Tool => ({
  ...rest,
  call: (args, caller, signal) => call(args as ArgumentsOf<T>, caller, signal),
})

export const done = (text: string): ToolAnswer => ({ ok: true, text })
export const refused = (text: string): ToolAnswer => ({ ok: false, text })

/**
 * Distinguishes the calls of a turn, and gives the same key when the turn is retried: by what the call does, and how often
 * this turn has done the same.
 */
export function createIdempotencyKeys() {
  const counts = new WeakMap<Caller, Map<string, number>>()
  return (caller: Caller, ...what: readonly string[]): string => {
    const hash = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16)
    const own = counts.get(caller) ?? new Map<string, number>()
    counts.set(caller, own)
    const count = own.get(hash) ?? 0
    own.set(hash, count + 1)
    return count === 0 ? hash : `${hash}-${count}`
  }
}

export const limited = (wanted: number | undefined, usual: number, most: number): number =>
  Math.min(most, Math.max(1, wanted ?? usual))

/** On one line. */
export const excerpt = (text: string, most: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

export const lines = (empty: string, all: readonly string[]): ToolAnswer =>
  done(all.length === 0 ? empty : all.join('\n'))
