// The skills of the workspace, shown to each CLI where it looks for them by itself.
import { lstat, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** claude looks into the first, codex, gemini, opencode and pi into the second. */
const homes = ['.claude', '.agents']

/** What stands there already is the user's own and is left alone. */
export async function linkSkills(dir: string, warn: (file: string, why: string) => void): Promise<void> {
  const failed = (file: string) => (error: unknown) => warn(file, `could not be made (${String(error)})`)
  await mkdir(join(dir, 'skills'), { recursive: true, mode: 0o700 }).catch(failed('skills'))
  for (const home of homes) {
    const link = join(home, 'skills')
    try {
      await mkdir(join(dir, home), { recursive: true, mode: 0o700 })
      if (!(await isThere(join(dir, link)))) await symlink(join('..', 'skills'), join(dir, link), 'dir')
    } catch (error) {
      failed(link)(error)
    }
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
