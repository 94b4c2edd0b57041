// Skills of the workspace: skills/NAME/SKILL.md. The agent is told names and descriptions and reads a skill when it needs it.
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readFrontMatter } from './front-matter.ts'

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
  /** As they are now: an edit counts from the next turn on. Never rejects. */
  read(): Promise<{ readonly skills: readonly Skill[]; readonly troubles: readonly SkillTrouble[] }>
}

/** The front matter stands at the head. */
const headBytes = 16 * 1024
const longest = { name: 64, description: 1024 }
/** For all of them together in the prompt. */
const room = 4096

/** `approved`: what counts of a file that somebody changed who may not; null: no file. Undefined: what stands on the disk. */
export function openSkills(
  dir: string,
  approved: (file: string) => string | null | undefined = () => undefined,
): Skills {
  const known = new Map<string, { readonly mark: string; readonly read: Skill | string }>()

  /** What was read is kept until the file changes. */
  async function readOne(folder: string): Promise<{ file: string; read: Skill | string } | null> {
    const file = `skills/${folder}/SKILL.md`
    const path = join(dir, file)
    const found = await stat(path).catch(() => null)
    if (!found) return { file, read: 'is missing: a skill is a folder with a SKILL.md' }
    const mark = `${found.mtimeMs} ${found.size} ${found.ino}`
    const before = known.get(file)
    if (before?.mark === mark) return { file, read: before.read }
    const read = found.isFile() ? await readSkill(path, file, folder) : 'is not a file'
    known.set(file, { mark, read })
    return { file, read }
  }

  async function readApproved(folder: string): Promise<{ file: string; read: Skill | string } | null> {
    const one = await readOne(folder)
    const file = `skills/${folder}/SKILL.md`
    const counts = approved(file)
    if (counts === undefined) return one
    return counts === null ? null : { file, read: await skillIn(counts.slice(0, headBytes), file, folder) }
  }

  return {
    async read() {
      const folders = await readdir(join(dir, 'skills'), { withFileTypes: true }).catch(() => [])
      const names = folders.filter(one => !one.isFile() && !one.name.startsWith('.')).map(one => one.name)
      const all = await Promise.all(names.sort().map(readApproved))
      for (const file of known.keys()) if (!all.some(one => one?.file === file)) known.delete(file)
      const skills: Skill[] = []
      const troubles: SkillTrouble[] = []
      for (const one of all) {
        if (one === null) continue
        const { file, read } = one
        if (typeof read === 'string') troubles.push({ file, why: `${read}; it is left out` })
        else if (skills.some(({ name }) => name === read.name))
          troubles.push({ file, why: `has the name ${read.name}, which another skill has already; it is left out` })
        else skills.push(read)
      }
      return { skills, troubles }
    },
  }
}

async function readSkill(path: string, file: string, folder: string): Promise<Skill | string> {
  const text = await headOf(path).catch((error: unknown) => error)
  if (typeof text !== 'string') return `cannot be read (${String((text as NodeJS.ErrnoException)?.code ?? text)})`
  return skillIn(text, file, folder)
}

async function skillIn(text: string, file: string, folder: string): Promise<Skill | string> {
  const front = await readFrontMatter(text)
  if (!front.ok) return front.why
  const { name = folder, description } = front.values
  if (typeof name !== 'string' || !/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(name) || name.length > longest.name)
    return `has a name that is not made of small letters, digits and dashes (at most ${longest.name})`
  if (typeof description !== 'string' || description.trim() === '')
    return 'has no description: say in a line what it does and when to use it'
  const line = description.replace(/\s+/g, ' ').trim()
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

/** The section of the prompt; '': there are none. However many there are, each is named as long as there is room. */
export function describeSkills(skills: readonly Skill[]): string {
  if (skills.length === 0) return ''
  const head = 'Read the file of a skill before you do what it is for.\n\n'
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
