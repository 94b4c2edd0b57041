// The order in which one client's frames are dealt with.
import type { ClientFrame } from './frames.ts'

/** Files are looked for before a message is offered: what the same client says after it must not overtake it. */
export function openOrder(): (frame: ClientFrame, work: () => Promise<void>) => void {
  let last: Promise<void> | null = null
  return (frame, work) => {
    if (frame.type === 'stop' || (last === null && !looksFirst(frame))) return void work()
    const mine = (last ?? Promise.resolve()).then(work)
    last = mine
    void mine.then(() => {
      if (last === mine) last = null
    })
  }
}

const looksFirst = (frame: ClientFrame): boolean =>
  frame.type === 'edit' || (frame.type === 'message' && (frame.attachments ?? []).length > 0)
