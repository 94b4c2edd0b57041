// The folder of markdown files that defines the agent. Read again for every turn; the files are the only state.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { promptRoom as fileLimit } from '../base/files.ts'
import type { Emit } from '../base/signal.ts'
import { errorCode } from '../base/unknown.ts'
import { type Bootstrapped, bootInstructions, bootstrap, createFile } from './bootstrap.ts'
import { furnishForClis } from './for-clis.ts'
import { type Persona, personaFiles, readPersona } from './persona.ts'
import {
  type Excerpt,
  type Found,
  type Keep,
  noSections,
  type SectionFile,
  type SectionKey,
  type Sections,
  sectionFiles,
} from './sections.ts'
import { createSkills, describeSkills } from './skills.ts'

export interface Workspace {
  /** Creates the folder and missing files. Rejects with an explanation for the owner if that is not possible. */
  bootstrap(): Promise<Bootstrapped>
  /** What boot.md wants done on the first start; null: nothing. Never rejects. */
  bootInstructions(): Promise<string | null>
  /** The current content of the files. Unreadable files are reported and left out; rejects only without file descriptors. */
  read(): Promise<Sections>
  /** The current skills, as a list for the prompt; '': none. Never rejects. */
  skills(): Promise<string>
}

const totalLimit = 256 * 1024

export interface WorkspaceParts {
  readonly dir: string
  readonly emit: Emit
  /** A folder with the skills that a new workspace gets. */
  readonly shippedSkills: string
  /** The approved content of a file with an unapproved change; null: no file. Undefined: the content on disk. */
  approved?(file: string): string | null | undefined
}

export const createWorkspace = ({
  dir,
  emit,
  shippedSkills,
  approved = () => undefined,
}: WorkspaceParts): Workspace => {
  const report = onceWhileItLasts(emit)
  const reportSkills = onceWhileItLasts(emit)
  const skills = createSkills(dir, approved)
  const personaOf = rememberLast()

  const find = (file: string, keep: Excerpt['keep']): Found => {
    const content = approved(file)
    if (content === undefined) return readExcerpt(join(dir, file), file, fileLimit, keep)
    return content === null ? { type: 'missing' } : excerptOf(content, file, fileLimit, keep)
  }

  const readSingle = async (section: SectionFile): Promise<Found> => {
    const keep = section.key === 'memory' ? 'end' : 'start'
    const found = find(section.file, keep)
    if (found.type !== 'missing' || section.key !== 'memory' || approved(section.file) !== undefined) return found
    const made = await createFile(join(dir, section.file), section.starter)
    if (made.type === 'failed') return { type: 'unreadable', why: 'is missing and cannot be created; check the folder' }
    const again = find(section.file, keep)
    return again.type === 'missing' ? { type: 'unreadable', why: 'is a dangling link; remove it' } : again
  }

  const readPersonaFile = async (file: string, problems: Problems): Promise<ReadonlyMap<SectionKey, Excerpt>> => {
    const found = find(file, 'start')
    if (found.type === 'unreadable') problems.set(file, found.why)
    if (found.type !== 'text') return new Map()
    if (found.excerpt.cutFrom !== null) problems.set(file, tooLarge(found.excerpt.cutFrom, fileLimit))
    // The note of a cut file ends up in its last section, which is the one that was cut.
    const persona = await personaOf(file, noted(found.excerpt))
    if (persona === null) problems.set(file, 'is nested too deeply to be read; write it more simply')
    const parts = [...(persona ?? [])]
    return new Map(parts.map(([key, text]) => [key, { file, text, keep: 'start', cutFrom: null }]))
  }

  const read = async (): Promise<Sections> => {
    const problems: Problems = new Map()
    const [singles, personas] = await Promise.all([
      Promise.all(sectionFiles.map(readSingle)),
      Promise.all(personaFiles.map(file => readPersonaFile(file, problems))),
    ])
    const chosen = new Map<SectionKey, Excerpt>()
    for (const [index, section] of sectionFiles.entries()) {
      const found = singles[index] ?? { type: 'missing' }
      const persona = personas.find(parts => parts.has(section.key))?.get(section.key)
      const excerpt = choose(section, found, persona)
      if (excerpt !== undefined) chosen.set(section.key, excerpt)
      if (found.type === 'unreadable') problems.set(section.file, found.why)
      else if (found.type === 'missing' && excerpt === undefined) problems.set(section.file, missing)
      else if (found.type === 'text' && found.excerpt.cutFrom !== null) {
        problems.set(section.file, tooLarge(found.excerpt.cutFrom, fileLimit))
      }
    }
    const shared = shareRoom([...chosen.values()], totalLimit)
    const sections: Record<SectionKey, string | null> = { ...noSections }
    for (const [index, key] of [...chosen.keys()].entries()) {
      const excerpt = shared[index]
      if (excerpt === undefined) continue
      sections[key] = noted(excerpt)
      const { file, cutFrom } = excerpt
      if (cutFrom !== null && !problems.has(file)) problems.set(file, tooLargeTogether(cutFrom))
    }
    report(problems)
    return sections
  }

  return {
    async bootstrap() {
      const warn = (file: string, why: string) => emit({ type: 'workspace-trouble', file, why })
      const made = await bootstrap(dir, file => readExcerpt(join(dir, file), file, fileLimit, 'start'), warn)
      await furnishForClis(dir, shippedSkills, warn)
      return made
    },
    bootInstructions: () => bootInstructions(find('boot.md', 'start')),
    read,
    async skills() {
      const found = await skills.read()
      reportSkills(new Map(found.troubles.map(({ file, why }) => [file, why])))
      return describeSkills(found.skills)
    },
  }
}

/** A file that is missing, empty or as we created it leaves its section to the persona. */
const choose = (section: SectionFile, found: Found, persona: Excerpt | undefined): Excerpt | undefined => {
  if (found.type !== 'text') return persona
  const text = found.excerpt.text.trim()
  if (text === '' || text.toLowerCase() === section.header.toLowerCase()) return persona
  return text === section.starter.trim() ? (persona ?? found.excerpt) : found.excerpt
}

type Problems = Map<string, string>

const missing = 'is missing; its section is left out until the file exists'
const tooLarge = (size: number, limit: number): string =>
  `is too large: ${size} bytes, of which the agent gets ${limit}; shorten it`
const tooLargeTogether = (size: number): string =>
  `was cut (${size} bytes) because all sections together are over ${totalLimit} bytes; shorten the largest`

/** The same problem of a file is reported once, and again only after it was solved or changed. */
const onceWhileItLasts = (emit: Emit): ((problems: Problems) => void) => {
  let last: Problems = new Map()
  // A growing file is still the same problem.
  const kind = (why: string | undefined): string | undefined => why?.replaceAll(/\d+/g, '')
  return problems => {
    const before = last
    last = problems
    for (const [file, why] of problems) {
      if (kind(before.get(file)) !== kind(why)) emit({ type: 'workspace-trouble', file, why })
    }
  }
}

/** Caches the parsed persona: the file is read every turn but rarely changes. */
const rememberLast = (): ((file: string, text: string) => Promise<Persona | null>) => {
  const last = new Map<string, { readonly text: string; readonly persona: Persona | null }>()
  return async (file, text) => {
    const known = last.get(file)
    if (known?.text === text) return known.persona
    const persona = await readPersona(text)
    last.set(file, { text, persona })
    return persona
  }
}

// Reads no more of a file than there is room for, and cuts text without breaking a line or a character.

/** Bytes reserved for the note in a cut text. */
const noteRoom = 200

/**
 * Throws only if there are no file descriptors left: then nothing is known about the file, and the turn must wait.
 * Reads at most `limit` bytes, and the noted text has at most `limit` bytes. Synchronous: a few small files are read for every
 * turn, and the thread pool would take three times as long as the reading.
 */
export const readExcerpt = (path: string, file: string, limit: number, keep: Keep): Found => {
  let handle: number | null = null
  try {
    // Without O_NONBLOCK, a named pipe in place of the file would block the turn for ever.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(handle)
    if (stat.isDirectory())
      return { type: 'unreadable', why: 'is a folder; move it away and create a file with that name' }
    if (!stat.isFile()) return { type: 'unreadable', why: 'is not a regular file; replace it with one' }
    const over = stat.size > limit
    const whole = readAt(handle, over && keep === 'end' ? stat.size - limit : 0, Math.min(stat.size, limit))
    const bytes = over ? cut(whole, limit - noteRoom, keep) : whole
    if (!isUtf8(bytes)) return { type: 'unreadable', why: 'is not UTF-8 text; save it as UTF-8' }
    return { type: 'text', excerpt: { file, text: tidy(bytes), keep, cutFrom: over ? stat.size : null } }
  } catch (error) {
    return troubleOf(error)
  } finally {
    if (handle !== null) closeSync(handle)
  }
}

/** The same for a text. */
export const excerptOf = (text: string, file: string, limit: number, keep: Keep): Found => {
  const bytes = Buffer.from(text)
  const over = bytes.length > limit
  const kept = over ? cut(bytes, limit - noteRoom, keep) : bytes
  return { type: 'text', excerpt: { file, text: tidy(kept), keep, cutFrom: over ? bytes.length : null } }
}

/** The text with a note for the agent about the missing part. */
export const noted = ({ file, text, keep, cutFrom }: Excerpt): string => {
  if (cutFrom === null) return text
  const note = `[Only the ${keep} of ${file} is shown here: it has ${cutFrom} bytes. Read the file for the rest, and shorten it.]`
  return keep === 'start' ? `${text}\n\n${note}` : `${note}\n\n${text}`
}

/** Distributes `limit` bytes: small texts stay whole, the largest are cut to the same size. */
export const shareRoom = (excerpts: readonly Excerpt[], limit: number): readonly Excerpt[] => {
  const sizes = excerpts.map(excerpt => Buffer.byteLength(noted(excerpt)))
  if (sizes.reduce((sum, size) => sum + size, 0) <= limit) return excerpts
  let rest = limit
  let share = 0
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    share = Math.floor(rest / (sizes.length - index))
    if (size > share) break
    rest -= size
  }
  return excerpts.map((excerpt, index) => {
    if ((sizes[index] ?? 0) <= share) return excerpt
    const bytes = Buffer.from(excerpt.text)
    return {
      ...excerpt,
      text: tidy(cut(bytes, share - noteRoom, excerpt.keep)),
      cutFrom: excerpt.cutFrom ?? bytes.length,
    }
  })
}

const readAt = (handle: number, from: number, length: number): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const read = readSync(handle, bytes, done, length - done, from + done)
    if (read === 0) break // it became shorter in the meantime
    done += read
  }
  return bytes.subarray(0, done)
}

const newline = 0x0a
const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** At most `room` bytes, cut between lines; inside a line only if more than half would be lost. */
const cut = (bytes: Buffer, room: number, keep: Keep): Buffer => {
  if (bytes.length <= room) return bytes
  if (keep === 'start') {
    const line = bytes.lastIndexOf(newline, room)
    if (line > room / 2) return bytes.subarray(0, line)
    let end = room
    while (end > 0 && continues(bytes[end])) end--
    return bytes.subarray(0, end)
  }
  let start = bytes.length - room
  // A line that begins exactly at the cut counts: its newline is the byte before.
  const line = bytes.indexOf(newline, start - 1) + 1
  if (line > 0 && line < start + room / 2) return bytes.subarray(line)
  while (start < bytes.length && continues(bytes[start])) start++
  return bytes.subarray(start)
}

/** Without byte order mark, blank lines at the ends, and NULs, which a power cut can leave and no command line accepts. */
const tidy = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll('\0', '')
    .replace(/^(?:[ \t\r]*\n)+/, '')
    .trimEnd()

const troubleOf = (error: unknown): Found => {
  const code = errorCode(error) ?? 'unknown error'
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { type: 'missing' }
    case 'EACCES':
    case 'EPERM':
      return { type: 'unreadable', why: 'is not readable; give the user of the gateway permission (chmod u+r)' }
    case 'ELOOP':
      return { type: 'unreadable', why: 'is a circular link; replace it with a file' }
    case 'EMFILE':
    case 'ENFILE':
      throw error
    default:
      return { type: 'unreadable', why: `cannot be read (${code})` }
  }
}
