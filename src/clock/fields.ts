// The fields that both schedule files share: reads, validates and prints them.
import type { Entry } from '../base/entries.ts'
import type { Job, JobKind, JobTrouble, Precheck, When } from '../base/jobs.ts'
import { excerpt } from '../base/scrub.ts'

/** All on one line; only the instruction may span several. */
export const optionalKeys = ['timezone', 'channel', 'model', 'missed', 'paused', 'skip-if-unchanged'] as const

type Optional = Pick<Job, 'zone' | 'channel' | 'model' | 'missed' | 'paused' | 'skipIf'>
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string }

export const longestInstruction = 10_000
const longestLine = 500

export const defaultMissed = (kind: JobKind): Job['missed'] => (kind === 'heartbeat' ? 'skip' : 'once')

/** Does not throw; the first invalid field gives the reason. */
export function readOptional(kind: JobKind, given: (key: string) => string | null | undefined): Checked<Optional> {
  const zone = readZone(given('timezone'))
  if (!zone.ok) return zone
  const channel = readLine('Channel', given('channel'))
  if (!channel.ok) return channel
  const model = readLine('Model', given('model'))
  if (!model.ok) return model
  const missed = readChoice('Missed', given('missed'), { skip: 'skip', once: 'once' } as const)
  if (!missed.ok) return missed
  const paused = readChoice('Paused', given('paused'), { yes: true, no: false, true: true, false: false })
  if (!paused.ok) return paused
  const skipIf = readPrecheck(given('skip-if-unchanged'))
  if (!skipIf.ok) return skipIf
  return good({
    zone: zone.value,
    channel: channel.value,
    model: model.value,
    missed: missed.value ?? defaultMissed(kind),
    paused: paused.value ?? false,
    skipIf: skipIf.value,
  })
}

export function printOptional(job: Job): Readonly<Record<string, string | null>> {
  return {
    Timezone: job.zone,
    Channel: job.channel,
    Model: job.model,
    Missed: job.missed === defaultMissed(job.kind) ? null : job.missed,
    Paused: job.paused ? 'yes' : null,
    'Skip-if-unchanged': job.skipIf && printPrecheck(job.skipIf),
  }
}

export function readInstruction(text: string | undefined): Checked<string> {
  const instruction = (text ?? '').replaceAll(/\r\n?/g, '\n').trim()
  if (instruction === '') return bad('It has no instruction. Add a line "Instruction: …".')
  if (instruction.length > longestInstruction) {
    return bad(
      `The instruction is longer than ${longestInstruction} characters. Put it into a file and name the file here.`,
    )
  }
  return good(instruction)
}

/** The jobs of a file, in its order. If two have the same name, the first is used even if it is invalid, because edits change that one. Entries after `mostJobs` are not read. */
export async function readJobs(
  file: string,
  entries: readonly Entry[],
  read: (entry: Entry) => Promise<Checked<Job>>,
): Promise<{ readonly jobs: readonly Job[]; readonly troubles: readonly JobTrouble[] }> {
  const jobs: Job[] = []
  const troubles: JobTrouble[] = []
  const names = new Set<string>()
  const refuse = (name: string, why: string) => troubles.push({ file, name: quoted(name), why })
  for (const entry of entries.slice(0, mostJobs)) {
    const name = entry.name.toLowerCase()
    const job: Checked<Job> = nameable(entry.name)
      ? names.has(name)
        ? bad('An entry above it has the same name, and only the first is used. Give this one another name.')
        : await read(entry)
      : bad('Its heading is not a valid name: use 1 to 100 visible characters.')
    names.add(name)
    if (job.ok) jobs.push(job.value)
    else refuse(entry.name, job.why)
  }
  const beyond = entries.slice(mostJobs)
  const why = `Only the first ${mostJobs} entries of a file are read, and this one comes after them: it never runs.`
  for (const { name } of beyond.slice(0, mostNamed)) refuse(name, why)
  if (beyond.length > mostNamed)
    refuse('', `Only the first ${mostJobs} entries are read; ${beyond.length - mostNamed} others never run.`)
  return { jobs, troubles }
}

/** Each costs half a millisecond when the file changes, and a file may have tens of thousands. */
const mostJobs = 1000
/** How many of the unread entries are named in problems. */
const mostNamed = 100

const nameable = (name: string) => name !== '' && name.length <= 100 && isSeen(name)

export function readPrecheck(text: string | null | undefined): Checked<Precheck | null> {
  const line = readLine('Skip-if-unchanged', text)
  if (!line.ok || line.value === null) return line as Checked<null>
  const [, type = '', rest = ''] = /^(file|url|command)\s+(\S.*)$/i.exec(line.value) ?? []
  switch (type.toLowerCase()) {
    case 'file':
      if (isInside(rest)) return good({ type: 'file', path: rest })
      return bad('Skip-if-unchanged takes a file of the workspace by its relative path, such as "file notes.md".')
    case 'url':
      if (URL.canParse(rest) && /^https?:\/\/[^\s]+$/i.test(rest)) return good({ type: 'url', url: rest })
      return bad('Skip-if-unchanged takes an address with http:// or https://, such as "url https://example.org/feed".')
    case 'command':
      return good({ type: 'command', command: rest })
    default:
      return bad('Skip-if-unchanged is written as "file notes.md", "url https://…" or "command git log -1".')
  }
}

const printPrecheck = (check: Precheck): string => {
  switch (check.type) {
    case 'file':
      return `file ${check.path}`
    case 'url':
      return `url ${check.url}`
    case 'command':
      return `command ${check.command}`
    default:
      return check satisfies never
  }
}

const isInside = (path: string) =>
  !/^(?:[/\\~]|[A-Za-z]:)/.test(path) && !path.split(/[/\\]/).some(part => part === '..')

function readZone(text: string | null | undefined): Checked<string | null> {
  const zone = readLine('Timezone', text)
  if (!zone.ok || zone.value === null) return zone
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone.value })
    return zone
  } catch {
    return bad(
      `There is no time zone "${quoted(zone.value)}". Write it like "Europe/Berlin", "America/New_York" or "UTC".`,
    )
  }
}

/** The given time zone, or `own` if none is given or it does not exist. */
export function zoneOr(text: string | null | undefined, own: string): string {
  const zone = readZone(text)
  return zone.ok ? (zone.value ?? own) : own
}

/** Null if it is empty. */
function readLine(key: string, text: string | null | undefined): Checked<string | null> {
  const line = (text ?? '').trim()
  if (!isSeen(line)) return bad(`${key} is one line of visible characters.`)
  if (line.length > longestLine) return bad(`${key} is longer than ${longestLine} characters.`)
  return good(line === '' ? null : line)
}

function readChoice<T>(
  key: string,
  text: string | null | undefined,
  choices: Readonly<Record<string, T>>,
): Checked<T | null> {
  const word = (text ?? '').trim().toLowerCase()
  if (word === '') return good(null)
  const [, value] = Object.entries(choices).find(([choice]) => choice === word) ?? []
  if (value !== undefined) return good(value)
  return bad(`${key} is ${Object.keys(choices).slice(0, 2).join(' or ')}, not "${quoted(word)}".`)
}

export const good = <T>(value: T): Checked<T> => ({ ok: true, value })
export const bad = (why: string): { readonly ok: false; readonly why: string } => ({ ok: false, why })

/** Combines the parts into a job; the first invalid part gives the reason. */
export function jobOf(
  kind: JobKind,
  name: string,
  when: When,
  instruction: Checked<string>,
  rest: Checked<Optional>,
): Checked<Job> {
  if (!instruction.ok) return instruction
  if (!rest.ok) return rest
  return good({ kind, name, when, instruction: instruction.value, ...rest.value })
}

/** Control characters, line separators, lone surrogates, bidirectional controls and zero-width characters. */
const unseen = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/u

const isSeen = (text: string): boolean => !unseen.test(text)

/** At most 60 characters, without invisible ones. */
export const quoted = (text: string): string =>
  excerpt(text.slice(0, 300).replace(new RegExp(`${unseen.source}+`, 'gu'), ' '), 60)
