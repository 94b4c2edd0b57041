// The folder of markdown files that says who the agent is. Read afresh for every turn; the files are the only state.
import { join } from 'node:path'
import { promptRoom as fileLimit } from '../base/files.ts'
import type { Tell } from '../base/signal.ts'
import { type Bootstrapped, bootstrap, createFile } from './bootstrap.ts'
import { type Excerpt, excerptOf, type Found, noted, readExcerpt, shareRoom } from './excerpt.ts'
import { furnishForClis } from './for-clis.ts'
import { type Persona, personaFiles, readPersona } from './persona.ts'
import { noSections, type SectionFile, type SectionKey, type Sections, sectionFiles } from './sections.ts'
import { describeSkills, openSkills } from './skills.ts'

export interface Workspace {
  /** Makes the folder and the missing files. Rejects, with words for the owner, when that is not possible. */
  bootstrap(): Promise<Bootstrapped>
  /** What the files say now. Never rejects: what cannot be read is told and left out. */
  read(): Promise<Sections>
  /** The skills there are now, as a list for the prompt; '': none. Never rejects. */
  skills(): Promise<string>
}

const totalLimit = 256 * 1024

export interface WorkspaceParts {
  readonly dir: string
  readonly tell: Tell
  /** A folder with the skills that a new workspace gets. */
  readonly shippedSkills: string
  /** What counts of a file where somebody who may not change it was at it; null: no file. Undefined: what stands on the disk. */
  approved?(file: string): string | null | undefined
}

export const openWorkspace = ({ dir, tell, shippedSkills, approved = () => undefined }: WorkspaceParts): Workspace => {
  const report = onceWhileItLasts(tell)
  const reportSkills = onceWhileItLasts(tell)
  const skills = openSkills(dir, approved)
  const personaOf = rememberLast()

  const find = (file: string, keep: Excerpt['keep']): Found => {
    const counts = approved(file)
    if (counts === undefined) return readExcerpt(join(dir, file), file, fileLimit, keep)
    return counts === null ? { type: 'missing' } : excerptOf(counts, file, fileLimit, keep)
  }

  const readSingle = async (section: SectionFile): Promise<Found> => {
    const keep = section.key === 'memory' ? 'end' : 'start'
    const found = find(section.file, keep)
    if (found.type !== 'missing' || section.key !== 'memory' || approved(section.file) !== undefined) return found
    const made = await createFile(join(dir, section.file), section.starter)
    if (made.type === 'failed') return { type: 'unreadable', why: 'is missing and cannot be created; check the folder' }
    const again = find(section.file, keep)
    return again.type === 'missing' ? { type: 'unreadable', why: 'is a link that leads nowhere; remove it' } : again
  }

  const readPersonaFile = async (file: string, troubles: Troubles): Promise<ReadonlyMap<SectionKey, Excerpt>> => {
    const found = find(file, 'start')
    if (found.type === 'unreadable') troubles.set(file, found.why)
    if (found.type !== 'text') return new Map()
    if (found.excerpt.cutFrom !== null) troubles.set(file, tooLarge(found.excerpt.cutFrom, fileLimit))
    // The note of a cut file falls into its last part, which is the one that was cut.
    const persona = await personaOf(file, noted(found.excerpt))
    if (persona === null) troubles.set(file, 'is nested too deeply to be read; write it more simply')
    const parts = [...(persona ?? [])]
    return new Map(parts.map(([key, text]) => [key, { file, text, keep: 'start', cutFrom: null }]))
  }

  const read = async (): Promise<Sections> => {
    const troubles: Troubles = new Map()
    const [singles, personas] = await Promise.all([
      Promise.all(sectionFiles.map(readSingle)),
      Promise.all(personaFiles.map(file => readPersonaFile(file, troubles))),
    ])
    const chosen = new Map<SectionKey, Excerpt>()
    for (const [index, section] of sectionFiles.entries()) {
      const found = singles[index] ?? { type: 'missing' }
      const persona = personas.find(parts => parts.has(section.key))?.get(section.key)
      const excerpt = choose(section, found, persona)
      if (excerpt !== undefined) chosen.set(section.key, excerpt)
      if (found.type === 'unreadable') troubles.set(section.file, found.why)
      else if (found.type === 'missing' && excerpt === undefined) troubles.set(section.file, missing)
      else if (found.type === 'text' && found.excerpt.cutFrom !== null) {
        troubles.set(section.file, tooLarge(found.excerpt.cutFrom, fileLimit))
      }
    }
    const shared = shareRoom([...chosen.values()], totalLimit)
    const sections: Record<SectionKey, string | null> = { ...noSections }
    for (const [index, key] of [...chosen.keys()].entries()) {
      const excerpt = shared[index]
      if (excerpt === undefined) continue
      sections[key] = noted(excerpt)
      const { file, cutFrom } = excerpt
      if (cutFrom !== null && !troubles.has(file)) troubles.set(file, tooLargeTogether(cutFrom))
    }
    report(troubles)
    return sections
  }

  return {
    async bootstrap() {
      const warn = (file: string, why: string) => tell({ type: 'workspace-trouble', file, why })
      const made = await bootstrap(dir, fileLimit, warn)
      await furnishForClis(dir, shippedSkills, warn)
      return made
    },
    read,
    async skills() {
      const found = await skills.read()
      reportSkills(new Map(found.troubles.map(({ file, why }) => [file, why])))
      return describeSkills(found.skills)
    },
  }
}

/** A file that nobody has written yet, be it missing, bare or as we made it, leaves its section to the persona. */
const choose = (section: SectionFile, found: Found, persona: Excerpt | undefined): Excerpt | undefined => {
  if (found.type !== 'text') return persona
  const text = found.excerpt.text.trim()
  if (text === '' || text.toLowerCase() === section.header.toLowerCase()) return persona
  return text === section.starter.trim() ? (persona ?? found.excerpt) : found.excerpt
}

type Troubles = Map<string, string>

const missing = 'is missing; its section is left out until it is there'
const tooLarge = (size: number, limit: number): string =>
  `is too large: ${size} bytes, of which ${limit} are given to the agent; shorten it`
const tooLargeTogether = (size: number): string =>
  `was cut (${size} bytes) because all sections together are over ${totalLimit} bytes; shorten the largest`

/** The same trouble of the same file is told once, and again only after it was gone or became another. */
const onceWhileItLasts = (tell: Tell): ((troubles: Troubles) => void) => {
  let last: Troubles = new Map()
  // A growing file is still the same trouble.
  const kind = (why: string | undefined): string | undefined => why?.replaceAll(/\d+/g, '')
  return troubles => {
    const before = last
    last = troubles
    for (const [file, why] of troubles) {
      if (kind(before.get(file)) !== kind(why)) tell({ type: 'workspace-trouble', file, why })
    }
  }
}

/** The same text is not taken apart again: the file is read every turn, but seldom changes. */
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
