// The note by which other commands find the running gateway. Apart from the rest of the folder: `aetheel status` needs no more.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface GatewayNote {
  readonly pid: number
  readonly url: string
  readonly token: string
}

/** What the gateway that uses this folder left; null if none ever did, or the note makes no sense. */
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
