// Which edits of the agent give it more power: they wait for the owner.
import { isConfigFile } from '../../base/config-files.ts'
import { widensPower } from '../../config/index.ts'
import { triggersIn } from '../../hooks/index.ts'
import { powerInSkill } from '../../prompt/index.ts'

/** Whether an edit gives the agent more power than it had. */
export function widens(file: string, before: string | null, after: string | null): boolean {
  if (isConfigFile(file)) return widensPower(before, after)
  const isWider = (powerIn: (text: string) => string) => powerIn(before ?? '') !== powerIn(after ?? '')
  if (file === 'agents.md') return isWider(triggersIn)
  return file.startsWith('skills/') && isWider(powerInSkill)
}
