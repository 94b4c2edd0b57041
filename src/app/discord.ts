// Discord, as this gateway is set up.
import { backendNames } from '../base/agent.ts'
import type { Config } from './config.ts'

/** Null: it is off. */
export const discordSettings = ({ configDir, discord }: Config) =>
  discord.enabled && discord.botToken !== null
    ? {
        token: discord.botToken,
        api: discord.api,
        messageContent: discord.messageContent,
        opensThreads: discord.threads === 'auto',
        catchUpMs: discord.catchUpMs,
        fileOver: discord.fileOver,
        workspace: configDir,
        completes: ['model', 'backend'],
      }
    : null

/** The chats that are on. The first is meant where none is named. */
export const chatNames = ({ discord }: Config): readonly [string, ...string[]] =>
  discord.enabled ? ['discord', 'webchat'] : ['webchat']

interface Used {
  readonly backend: string
  readonly model: string | null
}

/** What may follow a command: the backends; the models that are set up or were used of late. */
export function suggestFor(config: Config, used: () => readonly Used[]): (command: string) => readonly string[] {
  return command => {
    if (command === 'backend') return ['default', ...backendNames]
    if (command !== 'model') return []
    const routes = Object.values(config.models).map(({ backend, model }) => ({ backend: backend ?? '', model }))
    const known = [...routes, ...used()].flatMap(({ backend, model }) =>
      model === null ? [] : [backend === '' ? model : `${backend}/${model}`],
    )
    return ['default', ...(config.agent.model === null ? [] : [config.agent.model]), ...new Set(known)]
  }
}
