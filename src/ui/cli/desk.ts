// How a command reaches what the gateway keeps: a running one is asked over its API, else it is opened where it is kept.
import * as v from 'valibot'
import { ask } from './http.ts'
import type { Address, CliPorts, Flags, Kept } from './ports.ts'
import { aligned, cutTo, type Paint, type Terminal, withoutControls } from './terminal.ts'

/** A running gateway holds the database alone, so it is asked. */
export async function atTheDesk<Desk, T>(
  ports: CliPorts,
  flags: Flags,
  remote: (running: Address) => Desk,
  open: (flags: Flags) => Promise<Kept<Desk>>,
  use: (desk: Desk) => Promise<T>,
): Promise<T> {
  const where = whereOf(flags)
  const running = await ports.find(where)
  if (running) return use(remote(running))
  const desk = await open(where)
  try {
    return await use(desk)
  } finally {
    await desk.close()
  }
}

/** Only what says which gateway is meant: a `--model` of a job is none of its business. */
export const whereOf = ({ configDir }: Flags): Flags => ({ configDir })

/** What the API answers to a question or, with an order, to that. Rejects in plain words. */
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
    throw new Error('the running gateway is of another version and does not know this; restart it')
  const refused = v.safeParse(v.object({ error: v.string() }), body)
  if (refused.success) throw new Error(withoutControls(refused.output.error))
  throw new Error(`the running gateway answered with HTTP ${answer.status}, which makes no sense here`)
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null // what the schema then says of it is enough
  }
}

export const refusal = v.object({ ok: v.literal(false), why: v.string() })

/** Says what came of an order; the exit code. */
export function tellResult<Good extends { readonly ok: true }>(
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

/** Cells are what others wrote: each on one line, and harmless. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): readonly string[] {
  const [first = '', ...lines] = aligned([head, ...rows.map(row => row.map(cell => cutTo(cell, widest)))])
  return [paint('bold', first), ...lines]
}

const widest = 60
