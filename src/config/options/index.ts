// The only table of options: names, allowed values and defaults. Everything else that deals with options is derived from it.
import { agent } from './agent.ts'
import { discord } from './discord.ts'
import { gateway, heartbeat, http, queue, workspace } from './gateway.ts'
import { limits } from './limits.ts'
import type { Block, Finding, Option, ValuesOf } from './option.ts'
import { access, budget } from './people.ts'
import { slack } from './slack.ts'
import { telegram } from './telegram.ts'
import { walls } from './walls.ts'

export type { Option } from './option.ts'

/** In display order. */
const blocks = [
  workspace,
  agent,
  queue,
  discord,
  telegram,
  slack,
  access,
  walls,
  heartbeat,
  budget,
  limits,
  http,
  gateway,
] as const

type OptionsIn<B> = B extends Block<infer Options> ? Options : never
type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer Every) => void
  ? Every
  : never
type Table = All<OptionsIn<(typeof blocks)[number]>>

/** By path in config.json. */
export const options: Readonly<Table> = Object.assign({}, ...blocks.map(block => block.options))

export type OptionKey = keyof Table
export type Values = ValuesOf<Table>

export function isOptionKey(key: string): key is OptionKey {
  return Object.hasOwn(options, key)
}

const rows = Object.entries<Option<unknown>>(options).filter((entry): entry is [OptionKey, Option<unknown>] =>
  isOptionKey(entry[0]),
)

export const eachOption = (): readonly (readonly [OptionKey, Option<unknown>])[] => rows

/** Secrets of the gateway that the backend must never get. The API key is not one of them: the backend needs it too. */
export const isPrivate = (variable: string): boolean =>
  variable !== options['anthropic.api_key'].env && rows.some(([, row]) => row.secret && row.env === variable)

/** The findings of the rules between options. */
export function findingsIn(values: Values, isSet: (key: OptionKey) => boolean): readonly Finding<OptionKey>[] {
  return blocks.flatMap((block): readonly Finding<OptionKey>[] => block.check(values, { isSet, isPrivate }))
}
