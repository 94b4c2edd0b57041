// What the CLIs look for in their working folder: the skills of the workspace, and settings that cannot be given another way.
import { cp, lstat, mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFile } from './bootstrap.ts'

/** claude looks into the first, codex, gemini, opencode and pi into the second. */
const homes = ['.claude', '.agents']

/**
 * Gemini tries ten times for minutes before it tells of a limit, and when it tidies up it removes sessions that are still in use.
 * It takes no variable or flag for either.
 */
const gemini = { general: { maxAttempts: 2, sessionRetention: { enabled: false } } }
const settings = { '.gemini/settings.json': `${JSON.stringify(gemini, null, 2)}\n` }

/** What stands there already is the user's own and is left alone. */
export async function furnishForClis(
  dir: string,
  shippedSkills: string,
  warn: (file: string, why: string) => void,
): Promise<void> {
  const failed = (file: string) => (error: unknown) => warn(file, `could not be made (${String(error)})`)
  const skills = join(dir, 'skills')
  const made = await mkdir(skills, { recursive: true, mode: 0o700 }).catch(failed('skills'))
  // Only into a new folder: whoever threw one of them away does not want it back.
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
