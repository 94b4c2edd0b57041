// Slash commands: converts the command table to Discord's format, and Discord's input back to command text.

import { createHash } from 'node:crypto'
import type { CommandShape } from '../../base/chat-module.ts'
import { excerpt } from '../../base/scrub.ts'

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

/** In servers and in direct messages with the bot. */
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
  // Lowercase words are literals, so they cannot be the name of the option.
  const name = /^\[?([A-Z]+)/.exec(takes)?.[1]?.toLowerCase() ?? 'what'
  const required = !takes.startsWith('[')
  const rest = { type: text, name, description: cut(asks ? 'Your question.' : about), required }
  const file = { type: attachment, name: 'file', description: 'A file to attach.', required: false }
  return [completes ? { ...rest, autocomplete: true } : rest, ...(asks ? [file] : [])]
}

export const withoutFiles = (definition: CommandDefinition): CommandDefinition => ({
  ...definition,
  options: definition.options.filter(({ type }) => type !== attachment),
})

export const withTextAlone = (definition: CommandDefinition): CommandDefinition => ({
  ...definition,
  options: definition.options.flatMap(({ autocomplete: _, ...option }) => (option.type === text ? [option] : [])),
})

/** Discord allows descriptions of up to 100 characters. */
const cut = (words: string): string => excerpt(words, 100)

/** Registration is limited to 200 a day, so it is done only when this hash changes. */
export const hashOf = (definitions: readonly CommandDefinition[]): string =>
  createHash('sha256').update(JSON.stringify(definitions)).digest('hex')

export interface Given {
  readonly name: string
  readonly type: number
  readonly value?: unknown
  readonly focused?: boolean
}

/** Exactly the text typed into the command. */
export const slashPrompt = (options: readonly Given[] = []): string => {
  const value = options.find(({ type }) => type === text)?.value
  return typeof value === 'string' ? value : ''
}

export const slashFiles = (options: readonly Given[] = []): readonly string[] =>
  options.flatMap(({ type, value }) => (type === attachment && typeof value === 'string' ? [value] : []))

/** As it would be typed in any other chat. The prompt stays verbatim, including whitespace at its ends. */
export const asTyped = (name: string, options?: readonly Given[]): string => {
  const prompt = slashPrompt(options)
  return prompt === '' ? `/${name}` : `/${name} ${prompt}`
}

/** Discord allows 25 suggestions of up to 100 characters. Matches at the start come first, then matches anywhere. */
export function choicesFor(suggestions: readonly string[], typed: string): { name: string; value: string }[] {
  const wanted = typed.trim().toLowerCase()
  const fits = suggestions.filter(one => one !== '' && one.length <= 100 && one.toLowerCase().includes(wanted))
  const starts = (one: string) => (one.toLowerCase().startsWith(wanted) ? 0 : 1)
  return [...new Set(fits)]
    .sort((a, b) => starts(a) - starts(b))
    .slice(0, 25)
    .map(one => ({ name: one, value: one }))
}
