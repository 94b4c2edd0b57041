// The skills as the owner sees them: those in the prompt, which of them are shipped, and which shipped ones are not used.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { KnownSkill, SkillsAdmin } from '../base/files.ts'
import { createSkills, type Skill } from './skills.ts'

export interface SkillsAdminParts {
  readonly dir: string
  /** A folder whose subfolder skills/ contains the shipped skills. */
  readonly templates: string
  approved(file: string): string | null | undefined
}

export function createSkillsAdmin({ dir, templates, approved }: SkillsAdminParts): SkillsAdmin {
  const own = createSkills(dir, approved)
  const shipped = createSkills(templates)

  async function known({ name, description, path }: Skill): Promise<KnownSkill> {
    const [size, original] = await Promise.all([sizeOf(join(dir, path)), textOf(join(templates, path))])
    const isLikeIt = original !== null && Buffer.byteLength(original) === size
    const isSame = isLikeIt && (await textOf(join(dir, path))) === original
    return { name, description, from: isSame ? 'shipped' : 'yours', file: path, bytes: size }
  }

  return {
    async list() {
      const [{ skills, troubles }, all] = await Promise.all([own.read(), shipped.read()])
      const there = new Set([...skills.map(({ path }) => path), ...troubles.map(({ file }) => file)])
      const unused = all.skills.filter(({ path }) => !there.has(path))
      return {
        skills: await Promise.all(skills.map(known)),
        troubles,
        offered: await Promise.all(
          unused.map(async ({ name, description, path }) => {
            return { name, description, text: (await textOf(join(templates, path))) ?? '' }
          }),
        ),
      }
    },
  }
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0, // deleted in the meantime
  )

const textOf = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(() => null)
