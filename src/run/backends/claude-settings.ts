// The settings of a run of claude without a shell: its agent must not get one by writing files that claude itself obeys.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Turn } from '../../base/agent.ts'

type Environment = Readonly<Record<string, string>>

export const runSettingsIn = (dir: string): string => join(dir, 'settings.json')

/**
 * Claude reads settings and skills again while a turn runs, and runs the commands in them. The file guard reverts such changes only at
 * the end of the turn. Null: the agent may run commands anyway.
 */
export function runSettings(turn: Turn, inherited: Environment): object | null {
  if (hasShell(turn)) return null
  return { permissions: { deny: obeyed }, ...(hasHooks(turn, inherited) ? {} : { disableAllHooks: true }) }
}

/** A rule such as `Bash(git log:*)` gives no shell. */
export const hasShell = ({ allowedTools }: Turn): boolean => allowedTools.includes('Bash')

/** The folders of the runs, with these settings in them. */
export const deniedRuns = (dir: string): string => `Edit(/${dirname(dir)}/**)`

/** In whatever folder: settings, agents, commands, plugins and MCP servers. */
const obeyed = ['Edit(//**/.claude/**)', 'Edit(//**/.claude.json)', 'Edit(//**/.mcp.json)']

/**
 * The owner has hooks. They may be there to restrict the agent, so they stay on. Without any, hooks are off: a skill can bring its own,
 * and the agent may write skills.
 */
function hasHooks({ workingDir }: Turn, { HOME = '', CLAUDE_CONFIG_DIR }: Environment): boolean {
  const folders = [CLAUDE_CONFIG_DIR || join(HOME, '.claude'), join(workingDir, '.claude')]
  return folders
    .flatMap(folder => [join(folder, 'settings.json'), join(folder, 'settings.local.json')])
    .some(file => /"(?:hooks|enabledPlugins)"\s*:\s*\{\s*"/.test(textOf(file)))
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // there is none
  }
}
