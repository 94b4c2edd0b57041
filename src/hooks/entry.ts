// What hooks and webhooks of agents.md have in common: an instruction, a channel, a model, and troubles in words.
import { type Entry, readEntries, sameName } from '../base/entries.ts'
import { label } from '../base/label.ts'

/** Something in agents.md that cannot be used; the rest of the file still counts. */
export interface HookTrouble {
  readonly file: 'agents.md'
  readonly name: string
  readonly why: string
}

export interface Told {
  readonly instruction: string
  /** Where the answer goes, as it is written: `discord:123`. Null: the default channel. */
  readonly channel: string | null
  /** `model` or `backend/model`. */
  readonly model: string | null
}

export const troubleWith = (name: string, why: string): HookTrouble => ({
  file: 'agents.md',
  name: label(name) || '(no name)',
  why,
})

/** What an entry became, or why it cannot be used. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

/** In the order of the file. The first of a name counts, the next ones are troubles. */
export function readSection<T>(
  markdown: string,
  section: string,
  keys: readonly string[],
  read: (entry: Entry, told: Told) => Read<T>,
): { readonly found: ReadonlyMap<string, T>; readonly troubles: readonly HookTrouble[] } {
  const found = new Map<string, T>()
  const troubles: HookTrouble[] = []
  const entries = readEntries(markdown, { section, keys: ['instruction', 'channel', 'model', ...keys] })
  for (const [i, entry] of entries.entries()) {
    const name = entry.name.trim().toLowerCase()
    const twice = entries.slice(0, i).some(earlier => sameName(earlier.name, name))
    const got = twice
      ? ({ ok: false, why: `"## ${section}" has it twice; the first one counts.` } as const)
      : readTold(entry, told => read(entry, told))
    if (got.ok) found.set(name, got.value)
    else troubles.push(troubleWith(entry.name, got.why))
  }
  return { found, troubles }
}

function readTold<T>({ fields, text }: Entry, then: (told: Told) => Read<T>): Read<T> {
  const instruction = fields.get('instruction') ?? ''
  if (instruction === '') {
    const hint = text === '' ? '' : ' What stands there now has no "Instruction:" before it.'
    return { ok: false, why: `It needs a line "Instruction: …" that says what the agent is to do.${hint}` }
  }
  return then({ instruction, channel: filled(fields.get('channel')), model: filled(fields.get('model')) })
}

const filled = (value: string | undefined): string | null => (value === undefined || value === '' ? null : value)
