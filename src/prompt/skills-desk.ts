// The skills as the owner sees them: those that the prompt names, which of them came with the gateway, and which of these are not used.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { KnownSkill, SkillsDesk } from '../base/files.ts'
import { openSkills, type Skill } from './skills.ts'

export interface SkillsDeskParts {
  readonly dir: string
  /** A folder with a folder skills/ of those that come with the gateway. */
  readonly templates: string
  approved(file: string): string | null | undefined
}

export function openSkillsDesk({ dir, templates, approved }: SkillsDeskParts): SkillsDesk {
  const own = openSkills(dir, approved)
  const shipped = openSkills(templates)

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
    () => 0, // gone meanwhile
  )

const textOf = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(() => null)
