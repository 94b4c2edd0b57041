// The answer of a turn: all text that the agent wrote before, between and after its tools, one paragraph each.
import type { Ended } from '../base/agent.ts'

export interface Answer {
  /** Adds a complete part. */
  add(text: string): void
  any(): boolean
  /** `last`: the last part, if the CLI reports it at the end; added if it is missing. */
  end(last?: string): Extract<Ended, { ok: true }>
}

export function openAnswer(): Answer {
  const parts: string[] = []
  const add = (text: string) => {
    if (text.trim() !== '') parts.push(text)
  }
  return {
    add,
    any: () => parts.length > 0,
    end(last = '') {
      if (!parts.at(-1)?.trim().endsWith(last.trim())) add(last)
      return answered(parts)
    },
  }
}

export const answered = (parts: readonly string[]): Extract<Ended, { ok: true }> => ({
  ...{ type: 'ended', ok: true, text: parts.join('\n\n') },
  ...(parts.length > 1 ? { last: parts.at(-1) ?? '' } : {}),
})
