// The order of the frames of one client.
import type { ClientFrame } from './frames.ts'

/** Looking up files takes time; later frames of the same client must not overtake the message. */
export function createOrder(): (frame: ClientFrame, work: () => Promise<void>) => void {
  let last: Promise<void> | null = null
  return (frame, work) => {
    if (frame.type === 'stop' || (last === null && !needsLookup(frame))) return void work()
    const mine = (last ?? Promise.resolve()).then(work)
    last = mine
    void mine.then(() => {
      if (last === mine) last = null
    })
  }
}

const needsLookup = (frame: ClientFrame): boolean =>
  frame.type === 'edit' || (frame.type === 'message' && (frame.attachments ?? []).length > 0)
