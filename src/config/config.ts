// The configuration as the program reads it, derived from the option table: `agent.max_turns` is `config.agent.maxTurns`.
import type { DescentRules } from '../base/descent.ts'
import { type Task, tasks } from '../base/event.ts'
import type { WrittenModelOverride } from '../base/model-override.ts'
import type { GateRules } from '../base/pairing.ts'
import { eachOption, type OptionKey, type Values } from './options/index.ts'
import type { Variables } from './sources.ts'

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
type SectionOf<Key> = Key extends `${infer Section}.${string}` ? Section : never

type TopLevel = {
  readonly [Key in OptionKey as Key extends `${string}.${string}` ? never : CamelCase<Key>]: Values[Key]
}
type Sections = {
  readonly [Section in SectionOf<OptionKey>]: {
    readonly [Key in OptionKey as Key extends `${Section}.${infer Name}` ? CamelCase<Name> : never]: Values[Key]
  }
}

/** Every field is the option of the same path in config.json; null: not set. `configDir` is absolute. */
export type Config = TopLevel &
  Sections & {
    readonly views: Views
    /** `env.vars`, for the backend, without the variables that configure the gateway itself. */
    readonly envVars: Variables
  }

/** Several options combined in the shape that one part of the program needs. */
interface Views {
  readonly gate: GateRules
  /** How much may descend from one event. */
  readonly descent: Readonly<Record<'owner' | 'guest', DescentRules>>
  /** What decides what a turn may touch. */
  readonly profiles: {
    readonly guestTools: Values['guest.tools']
    readonly guestNetwork: Values['guest.network']
    /** Of the MCP servers that guests may use. */
    readonly guestUrls: readonly string[]
    readonly guestMcp: Values['guest.mcp']
    readonly guestEnv: Values['guest.env']
    readonly sandbox: Values['sandbox']
    readonly allowedTools: Values['allowed_tools']
  }
  /** Null: each turn starts a new process. */
  readonly warm: { readonly most: number; readonly memoryBytes: number; readonly idleMs: number } | null
  /** Only those that are set. */
  readonly models: Readonly<Partial<Record<Task, WrittenModelOverride>>>
  readonly log: {
    readonly level: Values['log.level']
    readonly format: Values['log.format']
    /** The minimum level for the log files; null: no log files. */
    readonly file: Values['log.level'] | null
  }
}

/** Messages that the agent may send during the turns that one message of the owner causes. */
const mostSends = 200

function viewsOf(values: Values): Views {
  const { 'log.file': kept, 'log.level': level, 'log.format': format } = values
  return {
    gate: {
      owners: values['owner.users'],
      users: values['gate.users'],
      roles: values['gate.roles'],
      channels: values['gate.channels'],
      guilds: values['gate.guilds'],
      perMinute: values['gate.rate_limit'],
    },
    descent: {
      owner: { turns: values['agent.turns_per_message'], messages: mostSends, hourly: null },
      guest: {
        turns: values['guest.turns_per_message'],
        messages: values['guest.sends_per_message'],
        hourly: values['guest.turns_per_hour'] || null,
      },
    },
    profiles: {
      guestTools: values['guest.tools'],
      guestNetwork: values['guest.network'],
      guestUrls: values['mcp.servers']
        .filter(({ name }) => values['guest.mcp'].includes(name))
        .flatMap(server => ('url' in server ? server.url : [])),
      guestMcp: values['guest.mcp'],
      guestEnv: values['guest.env'],
      sandbox: values.sandbox,
      allowedTools: values.allowed_tools,
    },
    warm: values['agent.warm']
      ? {
          most: values['agent.warm_max'],
          memoryBytes: values['agent.warm_memory_mb'] * 1024 * 1024,
          idleMs: values['agent.warm_idle_ms'],
        }
      : null,
    models: Object.fromEntries(
      tasks.flatMap(task => {
        const route = values[`models.${task}`]
        return route ? [[task, route]] : []
      }),
    ),
    log: { level, format, file: kept === true ? level : kept === false ? null : kept },
  }
}

export function configFrom(values: Values, envVars: Variables): Config {
  const config: Record<string, object> = { views: viewsOf(values), envVars }
  for (const [key] of eachOption()) {
    const [section, name] = placeOf(key)
    if (section !== null) config[section] ??= {}
    copyProperty(values, key, section === null ? config : (config[section] ?? {}), name)
  }
  // The loop runs over the same table that the type is derived from.
  return frozen(config) as object as Config
}

/** The values in effect while the gateway runs: new values of live options, and the values from the start for all others. */
export function withLiveValues(start: Values, next: Values): Values {
  const values = {}
  for (const [key, { live }] of eachOption()) copyProperty(live ? next : start, key, values, key)
  return values as Values
}

export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const { value: inner } of Object.values(Object.getOwnPropertyDescriptors(value))) frozen(inner)
  return Object.freeze(value)
}

function placeOf(key: OptionKey): readonly [section: string | null, name: string] {
  const [first = '', second] = key.split('.').map(camelCase)
  return second === undefined ? [null, first] : [first, second]
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, delivery: string) => delivery.toUpperCase())

/** Copies a getter as a getter: looking up the machine's time zone takes 13 ms and 8 MB. */
function copyProperty(from: object, key: string, to: object, name: string): void {
  Object.defineProperty(to, name, Object.getOwnPropertyDescriptor(from, key) ?? {})
}
