// Reads the bytes of a body, never more than allowed.
import type { IncomingMessage } from 'node:http'

/** A shared limit for the bytes that several bodies may hold in memory. */
export interface Room {
  /** `evict`: called when another body needs the bytes, and this one is the oldest that is not complete. */
  enter(evict: () => void): Place
}

interface Place {
  /** False: all of the room is taken by bodies that are complete. */
  take(bytes: number): boolean
  /** It is complete and stays until it leaves. */
  complete(): void
  leave(): void
}

/** A body that is sent slowly gives way to the next one, so that bodies that never end cannot keep all others out. */
export const createRoom = (bytes: number): Room => {
  let left = bytes
  /** Oldest first. */
  const incomplete = new Set<() => void>()
  return {
    enter(evict) {
      let held = 0
      const give = () => {
        incomplete.delete(evict)
        left += held
        held = 0
      }
      incomplete.add(evict)
      return {
        take(wanted) {
          for (const other of incomplete) {
            if (wanted <= left) break
            if (other !== evict) other()
          }
          if (wanted > left) return false
          left -= wanted
          held += wanted
          return true
        },
        complete: () => void incomplete.delete(evict),
        leave: give,
      }
    },
  }
}

/** The time limit for a body that is read into memory. */
const bodyMs = 30_000

/** The same for senders that have not proven anything yet. */
const unprovenMs = 10_000

/** Rejects when the connection breaks. Node reads and drops the rest of an overlong body, within the request timeout, so that the answer arrives. */
export function readUpTo(request: IncomingMessage, limit: number): Promise<Buffer | 'too-long'>
/** The caller calls `leave` when it has dealt with the bytes. */
export function readUpTo(
  request: IncomingMessage,
  limit: number,
  room: Room,
): Promise<{ readonly bytes: Buffer; leave(): void } | 'too-long' | 'no-room'>
export function readUpTo(request: IncomingMessage, limit: number, room: Room | null = null): Promise<unknown> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve('too-long')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let over = false
    // The server's own limit is meant for large files.
    const late = setTimeout(() => request.destroy(), room ? unprovenMs : bodyMs).unref()
    const drop = () => {
      if (over) return
      over = true
      place?.leave()
      chunks.length = 0
    }
    const refuse = (why: 'too-long' | 'no-room') => {
      drop()
      resolve(why)
    }
    const place = room?.enter(() => refuse('no-room'))
    request.on('data', (chunk: Buffer) => {
      if (over) return
      if (length + chunk.length > limit) return refuse('too-long')
      if (place?.take(chunk.length) === false) return refuse('no-room')
      chunks.push(chunk)
      length += chunk.length
    })
    request.on('end', () => {
      if (over) return
      over = true
      place?.complete()
      const bytes = Buffer.concat(chunks)
      resolve(place ? { bytes, leave: place.leave } : bytes)
    })
    request.on('error', error => {
      drop()
      reject(error)
    })
    request.on('close', () => {
      clearTimeout(late)
      drop()
      reject(new Error('the request was cut off'))
    })
  })
}
