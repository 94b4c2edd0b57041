// Reads the bytes of a body, never more than allowed.
import type { IncomingMessage } from 'node:http'

/** A shared limit for the bytes that several bodies may hold in memory. */
export interface Room {
  take(bytes: number): boolean
  give(bytes: number): void
}

export const createRoom = (bytes: number): Room => {
  let left = bytes
  return {
    take(wanted) {
      if (wanted > left) return false
      left -= wanted
      return true
    },
    give(back) {
      left += back
    },
  }
}

/** The time limit for a body that is read into memory. */
const bodyMs = 30_000

/** Rejects when the connection breaks. Node reads and drops the rest of an overlong body, within the request timeout, so that the answer arrives. */
export function readUpTo(request: IncomingMessage, limit: number): Promise<Buffer | 'too-long'>
export function readUpTo(request: IncomingMessage, limit: number, room: Room): Promise<Buffer | 'too-long' | 'no-room'>
export function readUpTo(
  request: IncomingMessage,
  limit: number,
  room: Room | null = null,
): Promise<Buffer | 'too-long' | 'no-room'> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return Promise.resolve('too-long')
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let dropping = false
    // The server's own limit is meant for large files.
    const late = setTimeout(() => request.destroy(), bodyMs).unref()
    /** After success, the caller gives the bytes back. */
    const drop = () => {
      if (dropping) return
      dropping = true
      room?.give(length)
      chunks.length = 0
    }
    request.on('data', (chunk: Buffer) => {
      if (dropping) return
      const why = length + chunk.length > limit ? 'too-long' : room?.take(chunk.length) === false ? 'no-room' : null
      if (why === null) {
        chunks.push(chunk)
        length += chunk.length
      } else {
        drop()
        resolve(why)
      }
    })
    request.on('end', () => {
      if (dropping) return
      dropping = true
      resolve(Buffer.concat(chunks))
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
