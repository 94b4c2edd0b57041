// Which edits of a configuration file give the agent more power: all but those of options that are known to give none.
import { isDeepStrictEqual } from 'node:util'
import { type JsonValue, readJson } from './json.ts'
import { isJsonObject } from './sources.ts'

const harmless = new Set([
  ...['agent.model', 'agent.max_turns', 'agent.prewarm', 'timezone', 'retention_days', 'stop_timeout_ms'],
  ...['agent.warm', 'agent.warm_max', 'agent.warm_memory_mb', 'agent.warm_idle_ms', 'query.timeout_ms', 'query.max_ms'],
  ...[
    'queue.max_concurrent',
    'queue.max_depth',
    'queue.busy',
    'queue.collect',
    'heartbeat.enabled',
    'heartbeat.silent',
  ],
  ...['log.level', 'log.format', 'discord.threads', 'discord.file_over', 'discord.catchup_max_age'],
  ...['telegram.file_over', 'slack.threads', 'slack.file_over', 'slack.catchup_max_age'],
])

/** For both config.json and bot-config.json; null: no file. A text that cannot be read counts as one that does. */
export function widensPower(before: string | null, after: string | null): boolean {
  const [was, is] = [settingsIn(before), settingsIn(after)]
  if (is === null) return true
  return [...new Set([...(was?.keys() ?? []), ...is.keys()])].some(
    key => !harmless.has(key) && !isDeepStrictEqual(was?.get(key), is.get(key)),
  )
}

/** By path, as in `agent.model`; null: it is not an object. */
function settingsIn(text: string | null): ReadonlyMap<string, JsonValue> | null {
  if (text === null || text.trim() === '') return new Map()
  const read = readJson(text)
  return read.ok && isJsonObject(read.value) ? new Map(pathsIn(read.value, '')) : null
}

function* pathsIn(value: JsonValue, path: string): Generator<[string, JsonValue]> {
  if (!isJsonObject(value) || harmless.has(path)) yield [path, value]
  else for (const [key, inner] of Object.entries(value)) yield* pathsIn(inner, path === '' ? key : `${path}.${key}`)
}
