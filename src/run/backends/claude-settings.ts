// The settings of a run of claude: what it must ask for; and without a shell its agent must not get one by writing files that claude itself obeys.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Turn } from '../../base/agent.ts'
import { toolName } from '../tools.ts'
import { isAsking } from './claude-asks.ts'

type Environment = Readonly<Record<string, string>>

export const runSettingsIn = (dir: string): string => join(dir, 'settings.json')

/** Whether the run of an owner has settings of its own. */
export const hasSettings = (turn: Turn): boolean => isAsking(turn) || !hasShell(turn)

/**
 * Claude reads settings and skills again while a turn runs, and runs the commands in them. The file guard reverts such changes only at
 * the end of the turn. Null: the agent may run commands anyway, and nothing has to be asked for.
 */
export function runSettings(turn: Turn, inherited: Environment): object | null {
  if (!hasSettings(turn)) return null
  const permissions = { ...(isAsking(turn) ? { ask: asked(turn) } : {}), ...(hasShell(turn) ? {} : { deny: obeyed }) }
  return { permissions, ...(hasShell(turn) || hasHooks(turn, inherited) ? {} : { disableAllHooks: true }) }
}

/** Without this rule it would run commands that only read without asking. It is stronger than rules that allow. */
const asked = (turn: Turn) => [...new Set(turn.askTools.map(toolName))]

/** A rule such as `Bash(git log:*)` gives no shell, nor does one that must be asked for. */
const hasShell = (turn: Turn): boolean => turn.allowedTools.includes('Bash') && !asked(turn).includes('Bash')

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
