// Skills of the workspace: skills/NAME/SKILL.md. The prompt lists names and descriptions; the agent reads the files.
import { type Stats, statSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { visible } from '../base/scrub.ts'
import { errorCode, errorText, isObject } from '../base/unknown.ts'

export interface Skill {
  readonly name: string
  readonly description: string
  /** Relative to the workspace. */
  readonly path: string
}

export interface SkillTrouble {
  readonly file: string
  readonly why: string
}

export interface Skills {
  /** The current skills: an edit takes effect with the next turn. Never rejects. */
  read(): Promise<{ readonly skills: readonly Skill[]; readonly troubles: readonly SkillTrouble[] }>
}

/** The front matter is at the beginning. */
const headBytes = 16 * 1024
const longest = { name: 64, description: 1024 }
/** File system timestamps are coarse: a second change within this time may not change them. */
const unsureMs = 2000
/** The limit for all of them together in the prompt. */
const room = 4096

interface CachedSkill {
  readonly file: string
  readonly folder: string
  /** Null: the file does not exist. */
  readonly found: Stats | null
  readonly read: Skill | string
  /** When this version was first read. */
  readonly since: number
  /** It was read again long enough after that. */
  readonly sure: boolean
}

const fileOf = (folder: string) => `skills/${folder}/SKILL.md`
const missing = { found: null, read: 'is missing: a skill is a folder with a SKILL.md', since: 0, sure: false } as const

/** `approved`: the approved content of a file with an unapproved change; null: no file. Undefined: the content on disk. */
export function createSkills(
  dir: string,
  approved: (file: string) => string | null | undefined = () => undefined,
): Skills {
  let known = new Map<string, CachedSkill>()

  async function load(folder: string): Promise<CachedSkill> {
    const file = fileOf(folder)
    const found = statOf(join(dir, file))
    if (!found) return { ...missing, file, folder }
    const read = found.isFile() ? await readSkill(join(dir, file), file, folder) : 'is not a file'
    const before = known.get(file)
    const since = before && isSame(before.found, found) ? before.since : performance.now()
    return { file, folder, found, read, since, sure: performance.now() - since > unsureMs }
  }

  /** The cached skill, until the file changes. Synchronous, because a thousand promises cost more than a thousand stat calls. */
  function unchanged(folder: string): CachedSkill | null {
    const before = known.get(fileOf(folder))
    if (!before?.sure) return null
    const found = statOf(`${dir}/${before.file}`)
    return found && isSame(before.found, found) ? before : null
  }

  return {
    async read() {
      const folders = await readdir(join(dir, 'skills'), { withFileTypes: true }).catch(() => [])
      const names = folders.filter(one => !one.isFile() && !one.name.startsWith('.')).map(one => one.name)
      const entries = names.sort().map(folder => unchanged(folder) ?? load(folder))
      const all: CachedSkill[] = []
      for (const entry of entries) all.push(entry instanceof Promise ? await entry : entry)
      known = new Map(all.map(one => [one.file, one]))
      const skills = new Map<string, Skill>()
      const troubles: SkillTrouble[] = []
      for (const { file, folder, read: onDisk } of all) {
        // Requested after the files were read: changes made before that are known by now.
        const content = approved(file)
        if (content === null) continue
        const read = content === undefined ? onDisk : await skillIn(content.slice(0, headBytes), file, folder)
        if (typeof read === 'string') troubles.push({ file: visible(file), why: `${read}; it is left out` })
        else if (skills.has(read.name))
          troubles.push({
            file: visible(file),
            why: `has the name ${read.name}, which another skill already has; it is left out`,
          })
        else skills.set(read.name, read)
      }
      return { skills: [...skills.values()], troubles }
    },
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // not accessible, such as a link to itself
  }
}

/** Not only the modification time, which can be set back. */
const isSame = (a: Stats | null, b: Stats): boolean =>
  a !== null &&
  a.mtimeMs === b.mtimeMs &&
  a.ctimeMs === b.ctimeMs &&
  a.size === b.size &&
  a.ino === b.ino &&
  a.dev === b.dev

async function readSkill(path: string, file: string, folder: string): Promise<Skill | string> {
  const text = await headOf(path).catch((error: unknown) => error)
  if (typeof text !== 'string') return `cannot be read (${errorCode(text) ?? String(text)})`
  return skillIn(text, file, folder)
}

async function skillIn(text: string, file: string, folder: string): Promise<Skill | string> {
  const front = await readFrontMatter(text)
  if (!front.ok) return front.why
  const { name = folder, description } = front.values
  if (typeof name !== 'string' || !/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) || name.length > longest.name)
    return `has a name that is not made of lowercase letters, digits and dashes (at most ${longest.name})`
  if (typeof description !== 'string' || description.trim() === '')
    return 'has no description: write one line about what it does and when to use it'
  if (visible(file) !== file)
    return 'is in a folder whose name has line breaks, invisible characters or far too many of them'
  const line = description.replace(/[\s\p{C}\p{Z}]+/gu, ' ').trim()
  return { name, description: line.slice(0, longest.description), path: file }
}

async function headOf(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** The section of the prompt; '': no skills. Lists as many as fit. */
export function describeSkills(skills: readonly Skill[]): string {
  if (skills.length === 0) return ''
  const head = 'Read the file of a skill before you do the task it describes.\n\n'
  const each = Math.floor((room - head.length) / skills.length)
  let text = head
  for (const [index, { name, description, path }] of skills.entries()) {
    const full = `- ${name}: ${description} (${path})\n`
    const line = full.length <= Math.max(each, 200) ? full : `- ${name}: ${description.slice(0, 100)}… (${path})\n`
    if (text.length + line.length > room) return `${text}- and ${skills.length - index} more in skills/\n`
    text += line
  }
  return text
}

type FrontMatter =
  | { readonly ok: true; readonly values: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly why: string }

/** The YAML parser takes 13 MB and 100 ms, and most front matter is plain lines, so it is only loaded for the rest. */
async function readFrontMatter(text: string): Promise<FrontMatter> {
  const [, block] = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? []
  if (block === undefined)
    return { ok: false, why: 'has no front matter: begin it with ---, name: and description:, ---' }
  const plain = plainValues(block)
  if (plain) return { ok: true, values: plain }
  const { parse } = await import('yaml')
  try {
    const values: unknown = parse(block, { maxAliasCount: 0, logLevel: 'silent' })
    if (isObject(values)) return { ok: true, values: { ...values } }
    return { ok: false, why: 'has a front matter that is not a list of key: value' }
  } catch (error) {
    const [first = ''] = errorText(error).split('\n')
    return { ok: false, why: `has a front matter that is not YAML (${first.slice(0, 120)})` }
  }
}

/** Null: not just plain text; it needs the YAML parser. */
function plainValues(block: string): Readonly<Record<string, string>> | null {
  const values: Record<string, string> = Object.create(null)
  for (const line of block.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, key, value] = /^([A-Za-z][\w-]*):[ \t]+([^\s"'[\]{}&*!|>%@`#?:,-].*?)[ \t]*$/.exec(line) ?? []
    if (key === undefined || value === undefined || key in values || /: |:$| #/.test(value)) return null
    // Values that YAML would not read as text.
    if (/^(?:[-+.\d].*|true|false|null|yes|no|on|off|~)$/i.test(value)) return null
    values[key] = value
  }
  return values
}
