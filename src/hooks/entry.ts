// What hooks and webhooks of agents.md have in common: an instruction, a channel, a model, and problems.
import { type Entry, readEntries, sameName } from '../base/entries.ts'
import { label } from '../base/scrub.ts'

/** An entry of agents.md that cannot be used; the rest of the file is still in effect. */
export interface HookTrouble {
  readonly file: 'agents.md'
  readonly name: string
  readonly why: string
}

export interface CommonFields {
  readonly instruction: string
  /** Where the answer goes, as written: `discord:123`. Null for the default channel. */
  readonly channel: string | null
  /** `model` or `backend/model`. */
  readonly model: string | null
}

export const troubleWith = (name: string, why: string): HookTrouble => ({
  file: 'agents.md',
  name: label(name) || '(no name)',
  why,
})

/** The parsed entry, or why it cannot be used. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

/** In the order of the file. If a name occurs twice, the first entry is used and the others are problems. */
export function readSection<T>(
  markdown: string,
  section: string,
  keys: readonly string[],
  read: (entry: Entry, common: CommonFields) => Read<T>,
): { readonly found: ReadonlyMap<string, T>; readonly troubles: readonly HookTrouble[] } {
  const found = new Map<string, T>()
  const troubles: HookTrouble[] = []
  const entries = readEntries(markdown, { section, keys: ['instruction', 'channel', 'model', ...keys] })
  for (const [i, entry] of entries.entries()) {
    const name = entry.name.trim().toLowerCase()
    const twice = entries.slice(0, i).some(earlier => sameName(earlier.name, name))
    const got = twice
      ? ({ ok: false, why: `"## ${section}" has it twice; only the first one is used.` } as const)
      : readCommon(entry, common => read(entry, common))
    if (got.ok) found.set(name, got.value)
    else troubles.push(troubleWith(entry.name, got.why))
  }
  return { found, troubles }
}

function readCommon<T>({ fields, text }: Entry, then: (common: CommonFields) => Read<T>): Read<T> {
  const instruction = fields.get('instruction') ?? ''
  if (instruction === '') {
    const hint = text === '' ? '' : ' The text there has no "Instruction:" before it.'
    return { ok: false, why: `It needs a line "Instruction: …" that says what the agent should do.${hint}` }
  }
  return then({ instruction, channel: filled(fields.get('channel')), model: filled(fields.get('model')) })
}

const filled = (value: string | undefined): string | null => (value === undefined || value === '' ? null : value)

/** What runs by itself or can be called from outside: the hooks and webhooks, as a text that changes with any of them. */
export const triggersIn = (agentsMarkdown: string): string =>
  JSON.stringify(
    ['Hooks', 'Webhooks'].map(section =>
      readEntries(agentsMarkdown, { section, keys: ['instruction', 'channel', 'model', 'secret', 'signature'] }).map(
        ({ name, fields, text }) => [name, [...fields], text],
      ),
    ),
  )
