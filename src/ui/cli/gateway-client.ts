// How commands reach the gateway's data: through the API of a running gateway, or directly on disk if none is running.
import * as v from 'valibot'
import { ask } from './http.ts'
import type { Address, CliPorts, Flags, Kept } from './ports.ts'
import { aligned, cutTo, type OutputStream, paintFor, type Terminal, widthOf, withoutControls } from './terminal.ts'

/** A running gateway has the database to itself, so it must be asked. */
export async function withAdmin<Admin, T>(
  ports: CliPorts,
  flags: Flags,
  remote: (running: Address) => Admin,
  open: (flags: Flags) => Promise<Kept<Admin>>,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const where = whereOf(flags)
  const running = await ports.find(where)
  if (running) return use(remote(running))
  const admin = await open(where)
  try {
    return await use(admin)
  } finally {
    await admin.close()
  }
}

/** Only the flags that identify the gateway, not those of the command, such as the `--model` of a job. */
export const whereOf = ({ configDir }: Flags): Flags => ({ configDir })

/** The API's answer to a query or, with `order`, to a command. Rejects with a readable message. */
export async function askGateway<T>(
  { url, token }: Address,
  path: string,
  schema: v.GenericSchema<unknown, T>,
  order?: object,
): Promise<T> {
  const answer = await ask(`${url}${path}`, { token, timeoutMs: 30_000, ...(order === undefined ? {} : { order }) })
  if (!answer.ok) throw new Error(`the running gateway at ${url} does not answer`, { cause: answer.cause })
  if (answer.status === 401) throw new Error('the running gateway does not accept our token')
  const body = jsonIn(answer.body)
  const read = v.safeParse(schema, body)
  if (read.success) return read.output
  if (answer.status === 404)
    throw new Error('the running gateway has another version and does not support this; restart it')
  const refused = v.safeParse(v.object({ error: v.string() }), body)
  if (refused.success) throw new Error(withoutControls(refused.output.error))
  throw new Error(`the running gateway answered with HTTP ${answer.status}, which was not expected`)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // the schema's message is enough then
  }
}

export const refusal = v.object({ ok: v.literal(false), why: v.string() })

/** Prints the result of an order, and returns the exit code. */
export function printResult<Good extends { readonly ok: true }>(
  terminal: Terminal,
  json: boolean,
  result: Good | { readonly ok: false; readonly why: string },
  words: (good: Good) => string,
): number {
  if (json) terminal.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  else if (result.ok) terminal.stdout.write(`${withoutControls(words(result))}\n`)
  else terminal.stderr.write(`aetheel: ${withoutControls(result.why)}\n`)
  return result.ok ? 0 : 1
}

export function print(terminal: Terminal, json: boolean, value: object, lines: () => readonly string[]): number {
  terminal.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : `${lines().join('\n')}\n`)
  return 0
}

export interface Rows {
  readonly head: readonly string[]
  /** One text per row. */
  readonly rows: readonly string[]
}

/**
 * Cells may contain anybody's text: each is put on one line, without control characters. If the terminal is too narrow,
 * each row becomes several lines, so that no row is cut off.
 */
export function rowsOf(head: readonly string[], rows: readonly (readonly string[])[], out: OutputStream): Rows {
  const paint = paintFor(out)
  const cells = rows.map(row => row.map(cell => cutTo(cell, widest)))
  const [first = '', ...lines] = aligned([head, ...cells])
  const room = out.isTTY === true ? out.columns || 80 : Number.POSITIVE_INFINITY
  if ([first, ...lines].every(line => widthOf(line) <= room)) return { head: [paint('bold', first)], rows: lines }
  const apart = cells.map(([first = '', ...rest]) => [
    paint('bold', first),
    ...aligned(rest.map((cell, i) => [`  ${head[i + 1]?.toLowerCase()}`, cell])),
  ])
  return { head: [], rows: apart.map(lines => lines.join('\n')) }
}

/** The same as lines, for callers that add nothing to a row. */
export const table = (...given: Parameters<typeof rowsOf>): readonly string[] => {
  const { head, rows } = rowsOf(...given)
  return [...head, ...rows]
}

const widest = 60
