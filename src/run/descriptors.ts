// How many file descriptors this process has left. Without enough of them, a turn would fail half-way.
import { readdirSync, readFileSync, statSync } from 'node:fs'

/** Files, pipes and sockets that a turn opens at the same time when it starts. */
const neededByTurn = 12

/** Reserved from new connections, so that connected users still get answers. */
const reservedForTurns = neededByTurn + 8

export const hasRoomForTurn = (): boolean => descriptorsLeft() >= neededByTurn

export const hasRoomForConnection = (): boolean => descriptorsLeft() >= reservedForTurns

/** Whether a system call failed because this machine is out of descriptors, processes or memory. */
export const isNoRoom = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && noRoom.includes(String(error.code))

const noRoom = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']

/** Infinity if the system does not report it. */
function descriptorsLeft(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    // Newer kernels report the count as the size.
    const used = statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length
    return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit) - used
  } catch (error) {
    return isNoRoom(error) ? 0 : Number.POSITIVE_INFINITY
  }
}
