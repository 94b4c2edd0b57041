// The running gateway of a workspace, by the note that it left there.
import { resolve } from 'node:path'
import { answersAt } from '../ui/index.ts'
import type { LoadFrom } from './config.ts'
import { options } from './config-options.ts'
import { readDotEnv, setVariables, type Variables } from './config-sources.ts'
import { type GatewayNote, readNote } from './note.ts'

/** There is always a folder and an environment, however bad the configuration is. */
export async function groundUnder(from: LoadFrom): Promise<{ configDir: string; environment: Variables }> {
  const environment = { ...(await readDotEnv(from.cwd, { problems: [], warnings: [] })), ...setVariables(from.env) }
  const { env, default: usual } = options.config_dir
  const configDir = resolve(from.cwd, String(from.flags.configDir ?? environment[env] ?? usual).trim())
  return { configDir, environment }
}

/** Null also where one that was killed left its note behind. */
export async function findGateway(configDir: string): Promise<GatewayNote | null> {
  const note = await readNote(configDir)
  return note && (await answersAt(`${note.url}/healthz`)) ? note : null
}
