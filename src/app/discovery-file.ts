// The file by which other commands find the running gateway. Separate from state-folder.ts because `aetheel status` needs only this.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface GatewayNote {
  readonly pid: number
  readonly url: string
  readonly token: string
}

/** The file left by the gateway that uses this folder. Null if there is none, or if it cannot be parsed. */
export async function readNote(configDir: string): Promise<GatewayNote | null> {
  try {
    const note = JSON.parse(await readFile(noteFile(configDir), 'utf8')) as Partial<GatewayNote>
    const { pid, url, token } = note
    return typeof pid === 'number' && typeof url === 'string' && typeof token === 'string' ? { pid, url, token } : null
  } catch {
    return null
  }
}

export const stateDir = (configDir: string) => join(configDir, '.aetheel')
export const noteFile = (configDir: string) => join(stateDir(configDir), 'gateway.json')
