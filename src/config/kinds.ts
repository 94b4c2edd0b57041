// The kinds of values an option can have. Each accepts text (flag, environment) and its natural form in JSON.
import { isIP } from 'node:net'
import * as v from 'valibot'
import { type BackendName, backendNames, type McpServer, resolveBackendName } from '../base/agent.ts'
import { type LogLevel, logLevels } from '../base/logs.ts'
import { formatModelOverride, parseModelOverride, type WrittenModelOverride } from '../base/model-override.ts'
import type { SettingForm } from '../base/settings.ts'
import { ownServer } from '../base/tools.ts'

export interface Kind<T> {
  readonly schema: v.GenericSchema<unknown, T>
  /** Completes the sentence "must be …". */
  readonly allowed: string
  /** The input field on the Settings page, and the choices. */
  readonly form: SettingForm
  readonly choices?: readonly string[]
  /** The text form, if it is not the value itself. */
  write?(value: T): string
  /** Which parts of a secret value are secret. Missing: all of it. */
  readonly isSecret?: SecretPart
}

/** By the keys that lead to the part. */
export type SecretPart = (path: readonly string[]) => boolean

export const text: Kind<string> = { schema: v.string(), allowed: 'text', form: 'text' }

export const backendName: Kind<BackendName> = {
  schema: v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      try {
        return resolveBackendName(dataset.value)
      } catch (error) {
        addIssue({ message: String(error) })
        return NEVER
      }
    }),
  ),
  allowed: oneOfWords(backendNames),
  form: 'choice',
  choices: backendNames,
}

export const backendList: Kind<readonly BackendName[]> = {
  schema: v.pipe(v.union([v.array(v.string()), inListOf(/,/)]), v.array(v.picklist(backendNames))),
  allowed: 'backend names separated by commas',
  form: 'list',
}

/** As text (`parseModelOverride`), or as an object. */
export const route: Kind<WrittenModelOverride> = {
  schema: v.union([
    v.pipe(
      v.strictObject({
        backend: v.optional(v.picklist(backendNames)),
        model: v.optional(v.pipe(v.string(), v.minLength(1))),
      }),
      v.transform(({ backend = null, model = null }) => ({ backend, model })),
    ),
    v.pipe(v.string(), v.regex(/[^/\s]$/), v.transform(parseModelOverride)),
  ]),
  allowed: 'a backend, a model, or both such as codex/gpt-5, or {"backend", "model"}',
  form: 'text',
  write: formatModelOverride,
}

const serverName = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,64}$/), v.notValue(ownServer))
const texts = v.record(v.pipe(v.string(), v.minLength(1)), v.string())
const started = v.strictObject({
  command: v.pipe(v.string(), v.minLength(1)),
  args: v.optional(v.array(v.string()), []),
  env: v.optional(texts, {}),
})
const called = v.strictObject({
  url: v.pipe(v.string(), v.url(), v.startsWith('http')),
  headers: v.optional(texts, {}),
})
// Not a union: its errors would not tell which field is wrong.
const server = v.lazy((value): typeof started | typeof called =>
  typeof value === 'object' && value !== null && 'url' in value ? called : started,
)

/** The usual format: a name with a program to start or a URL to call. */
export const mcpServers: Kind<readonly McpServer[]> = {
  schema: v.pipe(
    v.union([v.pipe(v.string(), v.parseJson()), v.unknown()]),
    v.record(serverName, server),
    v.transform(servers => Object.entries(servers).map(([name, one]): McpServer => ({ name, ...one }))),
  ),
  allowed: `an object of servers by name (letters, digits, - and _; ${ownServer} is the gateway's own), each {"command", "args", "env"} or {"url", "headers"}`,
  form: 'text',
  isSecret: path => path.length < 2 || path[1] === 'env' || path[1] === 'headers',
}

/** Credentials are used in headers, links and cookies, so they may contain neither spaces nor non-ASCII characters. */
export function credential(atLeast: number): Kind<string> {
  return {
    schema: v.pipe(v.string(), v.regex(/^[!-~]+$/), v.minLength(atLeast)),
    allowed: atLeast > 1 ? `at least ${atLeast} characters without spaces` : 'characters without spaces',
    form: 'text',
  }
}

export function wholeNumber(from: number, to: number): Kind<number> {
  const inDigits = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number))
  return {
    schema: v.pipe(v.union([v.number(), inDigits]), v.safeInteger(), v.minValue(from), v.maxValue(to)),
    allowed: `a whole number from ${from} to ${to}`,
    form: 'number',
  }
}

/** US dollars, with cents. */
export const money: Kind<number> = {
  schema: v.pipe(
    v.union([
      v.number(),
      v.pipe(
        v.string(),
        v.regex(/^\$?\d+(?:\.\d+)?$/),
        v.transform(text => Number(text.replace('$', ''))),
      ),
    ]),
    v.finite(),
    v.minValue(0),
  ),
  allowed: 'an amount in US dollars such as 5 or 2.50',
  form: 'number',
}

/** `heartbeat=1,cron=2.50`, or an object. */
export const amounts: Kind<Readonly<Record<string, number>>> = {
  schema: v.pipe(
    v.union([
      v.pipe(
        v.string(),
        v.regex(/^[\w-]+ *=[^,]+(?:,[^,=]+=[^,]+)*$/),
        v.transform(text => Object.fromEntries(text.split(',').map(one => one.split('=').map(part => part.trim())))),
      ),
      v.unknown(),
    ]),
    v.record(v.pipe(v.string(), v.regex(/^[\w-]+$/)), money.schema),
  ),
  allowed: 'amounts in US dollars by name, such as heartbeat=1,cron=2.50',
  form: 'text',
  write: sums =>
    Object.entries(sums)
      .map(([name, usd]) => `${name}=${usd}`)
      .join(','),
}

// The maximum for timers: a longer one (24.8 days) fires immediately.
const longestTimer = 2 ** 31 - 1
export const milliseconds = (from: number): Kind<number> => wholeNumber(from, longestTimer)

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** In milliseconds. A number below 1000 without a unit means hours: nobody needs to look back for 24 milliseconds. */
export function age(to: number): Kind<number> {
  const bare = v.pipe(
    wholeNumber(0, to).schema,
    v.transform(number => (number < 1000 ? number * units.h : number)),
  )
  const withUnit = v.pipe(
    v.string(),
    v.regex(/^\d+(?:\.\d+)? ?(?:ms|s|m|h|d)$/),
    v.transform(text => Math.round(Number.parseFloat(text) * units[/[a-z]+$/.exec(text)?.[0] as keyof typeof units])),
  )
  return {
    schema: v.pipe(v.union([bare, withUnit]), v.maxValue(to)),
    allowed: 'hours such as 24, a number with a unit such as 90m or 2d, or milliseconds (1000 or more)',
    form: 'text',
    write: ms => {
      const unit = (['d', 'h', 'm', 's'] as const).find(name => ms > 0 && ms % units[name] === 0) ?? 'ms'
      return `${ms / units[unit]}${unit}`
    },
  }
}

/** The URL of a service, without a trailing slash. */
export const address: Kind<string> = {
  schema: v.pipe(
    v.string(),
    v.regex(/^https?:\/\/[^\s/?#]+(?:\/[^\s?#]*)?$/),
    v.transform(url => url.replace(/\/+$/, '')),
  ),
  allowed: 'a URL that starts with https:// or http://',
  form: 'text',
}

const yes = ['true', '1', 'yes', 'on']
const no = ['false', '0', 'no', 'off']
export const yesOrNo: Kind<boolean> = {
  schema: v.union([
    v.boolean(),
    v.pipe(
      v.string(),
      v.toLowerCase(),
      v.picklist([...yes, ...no]),
      v.transform(word => yes.includes(word)),
    ),
  ]),
  allowed: 'true or false (1/0, yes/no, on/off)',
  form: 'yes-or-no',
}

/** Whether the log is written to files, or the minimum level for them. */
export const fileLevel: Kind<boolean | LogLevel> = {
  schema: v.union([yesOrNo.schema, v.picklist(logLevels)]),
  allowed: `true, false or ${oneOfWords(logLevels)}`,
  form: 'choice',
  choices: ['true', 'false', ...logLevels],
  write: String,
}

export function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  return { schema: v.picklist(words), allowed: oneOfWords(words), form: 'choice', choices: words }
}

function inListOf(separator: RegExp) {
  return v.pipe(
    v.string(),
    v.transform(list =>
      list
        .split(separator)
        .map(item => item.trim())
        .filter(item => item !== ''),
    ),
  )
}

/** Commas inside parentheses belong to the item: `Bash(echo a,b)` is one tool. */
const inList = inListOf(/,(?![^()]*\))/)

function list(item: RegExp, allowed: string): Kind<readonly string[]> {
  const items = v.union([v.array(v.string()), inList])
  return {
    schema: v.pipe(
      items,
      v.everyItem(name => item.test(name)),
    ),
    allowed,
    form: 'list',
  }
}

const tools = list(/^[^\s(),]+(\(.*\))?$/, 'tool names separated by commas, such as Read,Bash(git log:*), or none')

/** An empty variable counts as not set, so an empty list needs a word. */
export const toolList: typeof tools = {
  ...tools,
  schema: v.pipe(
    tools.schema,
    v.transform(names => (names.length === 1 && names[0] === 'none' ? [] : names)),
  ),
}

export const serverNames = list(/^[\w.-]{1,100}$/, 'names of MCP servers, separated by commas')

/** A word, a name or an address, with or without a port; a name may begin with `*.`. */
export const guestNetwork = list(
  /^(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/,
  'model, web, open or hosts, separated by commas, such as example.org,*.example.net:8443',
)

export const variableNames = list(/^[A-Za-z_][A-Za-z0-9_]*$/, 'names of environment variables, separated by commas')

/** JSON numbers are not accepted: ids of most platforms are too long to be represented exactly. */
export const idList = list(
  /^(?:[a-z][a-z0-9-]*:)?[A-Za-z0-9_.-]{1,100}$/,
  'ids as text, separated by commas, such as 1234 or discord:1234',
)

export const nameList = list(
  /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/,
  'host names separated by commas, such as my-machine.example.ts.net',
)

export const hostName: Kind<string> = {
  schema: v.pipe(
    v.string(),
    v.check(
      host => isIP(host) > 0 || (/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host) && !/^[\d.]+$/.test(host)),
    ),
  ),
  allowed: 'an IP address or a host name',
  form: 'text',
}

/** Only these can be reached from this machine alone; any other name is treated as public. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

export const timezone: Kind<string> = {
  schema: v.pipe(v.string(), v.check(isTimezone)),
  allowed: 'the IANA name of a time zone, such as Europe/Berlin',
  form: 'text',
}

export function systemTimezone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  // If TZ is unknown to the system, Node reports a time zone that it does not accept itself.
  return isTimezone(timeZone) ? timeZone : 'UTC'
}

function isTimezone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name })
    return /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

function oneOfWords(words: readonly string[]): string {
  return `one of ${words.join(', ')}`
}
