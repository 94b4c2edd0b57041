// MCP servers in the formats of gemini: for its settings, and for ACP.
import type { McpServer } from '../../base/agent.ts'
import type { Json } from '../stdio.ts'

type Values = Readonly<Record<string, string>>

/** An entry of `mcpServers` in a settings file. */
export function settingOf(server: McpServer): readonly [string, Json] {
  if ('url' in server)
    return [server.name, { httpUrl: literal(server.url), headers: inFile(unexpanded(server.headers)) }]
  const { name, command, args, env } = server
  return [name, { command: literal(command), args: args.map(literal), env: inFile(unexpanded(env)) }]
}

/** An entry of `mcpServers` in `session/new` and `session/load`. `tag` goes into the environment of servers that are started. */
export function acpServer(server: McpServer, tag: Values): Json {
  if ('url' in server)
    return { type: 'http', name: server.name, url: server.url, headers: pairs(unexpanded(server.headers)) }
  const { name, command, args, env } = server
  return { name, command, args, env: pairs(unexpanded({ ...env, ...tag })) }
}

const pairs = (values: Values) => Object.entries(values).map(([name, value]) => ({ name, value }))

const changed = (values: Values, change: (value: string) => string): Values =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))

/** `$NAME` in variables and headers is replaced when a server is started, unless there is a backslash before it. */
const unexpanded = (values: Values) => changed(values, value => value.replaceAll('$', '\\$'))

/** `$NAME` is replaced in all strings of a settings file. The default for a missing variable is not expanded again. */
const literal = (text: string) => text.split('$').join(`\${AETHEEL_DOLLAR:-$}`)
const inFile = (values: Values) => changed(values, literal)
