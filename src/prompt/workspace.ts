// The folder of markdown files that defines the agent. Read again for every turn; the files are the only state.
import { join } from 'node:path'
import { promptRoom as fileLimit } from '../base/files.ts'
import type { Emit } from '../base/signal.ts'
import { type Bootstrapped, bootInstructions, bootstrap, createFile } from './bootstrap.ts'
import { type Excerpt, excerptOf, type Found, noted, readExcerpt, shareRoom } from './excerpt.ts'
import { furnishForClis } from './for-clis.ts'
import { type Persona, personaFiles, readPersona } from './persona.ts'
import { noSections, type SectionFile, type SectionKey, type Sections, sectionFiles } from './sections.ts'
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
      const made = await bootstrap(dir, fileLimit, warn)
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
