// Finds the running gateway of a workspace by the file it left there.
import { resolve } from 'node:path'
import { type LoadFrom, options, readDotEnv, setVariables, type Variables } from '../config/index.ts'
import { answersAt } from '../ui/index.ts'
import { type GatewayNote, readNote } from './discovery-file.ts'

/** The folder and the environment are known even if the configuration has mistakes. */
export async function workspaceOf(from: LoadFrom): Promise<{ configDir: string; environment: Variables }> {
  const environment = { ...(await readDotEnv(from.cwd, { problems: [], warnings: [] })), ...setVariables(from.env) }
  const { env, default: usual } = options.config_dir
  const configDir = resolve(from.cwd, String(from.flags.configDir ?? environment[env] ?? usual).trim())
  return { configDir, environment }
}

/** Null also if a killed gateway left its file behind. */
export async function findGateway(configDir: string): Promise<GatewayNote | null> {
  const note = await readNote(configDir)
  return note && (await answersAt(`${note.url}/healthz`)) ? note : null
}
