// The entry point of config/. Parts that only some commands need are loaded on demand.
import type { SettingsAdmin } from '../base/settings.ts'
import type { Clock } from '../base/time.ts'
import type { JsonValue } from './json.ts'
import type { LiveConfig, LiveParts } from './live.ts'
import type { SettingsParts } from './settings.ts'

export type { Config } from './config.ts'
export type { JsonValue } from './json.ts'
export type { LiveConfig } from './live.ts'
export { type Loaded, type LoadFrom, loadConfig } from './load.ts'
export { eachOption, options } from './options/index.ts'
export { widensPower } from './power.ts'
export {
  initialConfigFile,
  type Reloaded,
  reloadInWords,
  secretsIn,
  showProblems,
} from './report.ts'
export { readDotEnv, setVariables, type Variables } from './sources.ts'

export const createLiveConfig = async (parts: LiveParts): Promise<LiveConfig> => {
  const live = await import('./live.ts')
  return live.createLiveConfig(parts)
}

/** Reloads the configuration when one of its files has changed, until the signal aborts. */
export const watchConfig = async (config: LiveConfig, clock: Clock, signal: AbortSignal): Promise<void> => {
  const live = await import('./live.ts')
  await live.watchConfig(config, clock, signal)
}

/** Returns the text of config.json with these settings. Rejects with a plain message if they cannot be set there. */
export const withSettings = async (text: string, settings: ReadonlyMap<string, JsonValue>): Promise<string> => {
  const edit = await import('./edit.ts')
  return edit.withSettings(text, settings)
}

/** Returns the text of .env with these variables. Rejects with a plain message if they cannot be set there. */
export const withVariables = async (text: string, variables: ReadonlyMap<string, string>): Promise<string> => {
  const edit = await import('./edit.ts')
  return edit.withVariables(text, variables)
}

/** The settings as the Settings page shows and changes them. */
export const createSettings = async (parts: SettingsParts): Promise<SettingsAdmin> => {
  const settings = await import('./settings.ts')
  return settings.createSettings(parts)
}
