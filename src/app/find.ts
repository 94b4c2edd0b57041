// The running gateway of a workspace, by the note that it left there.
import { type GatewayNote, readNote } from './folder.ts'

export async function findGateway(configDir: string): Promise<GatewayNote | null> {
  const note = await readNote(configDir)
  if (!note) return null
  try {
    await fetch(`${note.url}/healthz`, { signal: AbortSignal.timeout(2000) })
    return note
  } catch (error) {
    // One that is busy for a moment is still there; one that refuses the connection left its note behind when it was killed.
    return (error as Error).name === 'TimeoutError' ? note : null
  }
}
