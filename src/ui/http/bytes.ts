// Reads the bytes of a body, and never more of them than is allowed.
import type { IncomingMessage } from 'node:http'

/** How many bytes several bodies may hold together while they are read and looked at. */
export interface Room {
  take(bytes: number): boolean
  give(bytes: number): void
}

export const openRoom = (bytes: number): Room => {
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

/** For a body that is read into memory. */
const bodyMs = 30_000

/** Rejects when the connection breaks. What is too long is read on and dropped by Node, within the request timeout, so that the answer arrives. */
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
    // The server's own limit is made for large files.
    const late = setTimeout(() => request.destroy(), bodyMs).unref()
    /** Whoever is handed the body gives its room back. */
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
