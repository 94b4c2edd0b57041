// Prepares the workspace for the CLIs: links to the skills, and settings that cannot be passed in another way.
import { cp, lstat, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFile } from './bootstrap.ts'

/** claude reads the first; codex, gemini, opencode and pi read the second. */
const homes = ['.claude', '.agents']

/**
 * Gemini retries ten times over minutes before it reports a limit, and its cleanup removes sessions that are still in use.
 * There is no variable or flag for either.
 */
const gemini = { general: { maxAttempts: 2, sessionRetention: { enabled: false } } }
const settings = { '.gemini/settings.json': `${JSON.stringify(gemini, null, 2)}\n` }

/** Existing files belong to the user and are left alone. */
export async function furnishForClis(
  dir: string,
  shippedSkills: string,
  warn: (file: string, why: string) => void,
): Promise<void> {
  const failed = (file: string) => (error: unknown) => warn(file, `could not be created (${String(error)})`)
  const skills = join(dir, 'skills')
  const made = await mkdir(skills, { recursive: true, mode: 0o700 }).catch(failed('skills'))
  // Only into a new folder: a skill that the user deleted must not come back.
  if (made !== undefined) await cp(shippedSkills, skills, { recursive: true }).catch(failed('skills'))
  for (const home of homes) {
    const link = join(home, 'skills')
    try {
      await mkdir(join(dir, home), { recursive: true, mode: 0o700 })
      if (!(await isThere(join(dir, link)))) await symlink(join('..', 'skills'), join(dir, link), 'dir')
    } catch (error) {
      failed(link)(error)
    }
  }
  for (const [file, content] of Object.entries(settings)) {
    await mkdir(dirname(join(dir, file)), { recursive: true, mode: 0o700 }).catch(failed(file))
    const made = await createFile(join(dir, file), content)
    if (made.type === 'failed') failed(file)(made.error)
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
