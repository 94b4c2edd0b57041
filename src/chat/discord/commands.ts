// Slash commands: the one command table as Discord wants it told, and what somebody typed as the words of that table.
import { createHash } from 'node:crypto'

/** A row of the command table, as far as a chat needs to know it. */
export interface CommandShape {
  readonly names: readonly string[]
  /** What may follow it, such as `PROMPT` or `[NAME | default]`; null: nothing. */
  readonly takes: string | null
  readonly about: string
  /** What follows is a message for the agent. */
  readonly asks: boolean
}

interface OptionDefinition {
  readonly type: number
  readonly name: string
  readonly description: string
  readonly required: boolean
  readonly autocomplete?: boolean
}

export interface CommandDefinition {
  readonly name: string
  readonly description: string
  readonly type: 1
  readonly options: readonly OptionDefinition[]
  readonly integration_types: readonly number[]
  readonly contexts: readonly number[]
}

const text = 3
const attachment = 11

/** In servers, with the bot, and between the bot and a person. */
const everywhere = { integration_types: [0], contexts: [0, 1] }

export const definitionsOf = (table: readonly CommandShape[], completes: readonly string[]): CommandDefinition[] =>
  table.flatMap(row =>
    row.names.map(name => ({
      name,
      description: cut(row.about),
      type: 1,
      options: optionsOf(row, completes.includes(name)),
      ...everywhere,
    })),
  )

function optionsOf({ takes, about, asks }: CommandShape, completes: boolean): readonly OptionDefinition[] {
  if (takes === null) return []
  // Small letters are to be typed as they stand: no name for what else may be typed there.
  const name = /^\[?([A-Z]+)/.exec(takes)?.[1]?.toLowerCase() ?? 'what'
  const required = !takes.startsWith('[')
  const rest = { type: text, name, description: cut(asks ? 'What you want to ask.' : about), required }
  const file = { type: attachment, name: 'file', description: 'A file that goes with it.', required: false }
  return [completes ? { ...rest, autocomplete: true } : rest, ...(asks ? [file] : [])]
}

/** Discord takes descriptions of 100 characters. */
const cut = (words: string): string => (words.length <= 100 ? words : `${words.slice(0, 99)}…`)

/** Registering costs, and is limited to 200 a day: it is done only when this has changed. */
export const hashOf = (definitions: readonly CommandDefinition[]): string =>
  createHash('sha256').update(JSON.stringify(definitions)).digest('hex')

export interface Given {
  readonly name: string
  readonly type: number
  readonly value?: unknown
  readonly focused?: boolean
}

/** Exactly what was typed into the command. */
export const slashPrompt = (options: readonly Given[] = []): string => {
  const value = options.find(({ type }) => type === text)?.value
  return typeof value === 'string' ? value : ''
}

export const slashFiles = (options: readonly Given[] = []): readonly string[] =>
  options.flatMap(({ type, value }) => (type === attachment && typeof value === 'string' ? [value] : []))

/** As it would be typed in any other chat. */
export const asTyped = (name: string, options?: readonly Given[]): string => `/${name} ${slashPrompt(options)}`.trim()

/** At most 25 suggestions of at most 100 characters are taken: those that begin so, then those that have it anywhere. */
export function choicesFor(suggestions: readonly string[], typed: string): { name: string; value: string }[] {
  const wanted = typed.trim().toLowerCase()
  const fits = suggestions.filter(one => one !== '' && one.length <= 100 && one.toLowerCase().includes(wanted))
  const starts = (one: string) => (one.toLowerCase().startsWith(wanted) ? 0 : 1)
  return [...new Set(fits)]
    .sort((a, b) => starts(a) - starts(b))
    .slice(0, 25)
    .map(one => ({ name: one, value: one }))
}
