// Checks whether a port can be listened on, and if not, which process has it.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

/** Null if the port is free. Otherwise the system's error code, such as EADDRINUSE. */
export function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

export interface Owner {
  readonly pid: number
  readonly name: string
}

/** The process that listens there. Null if the system does not say: another user's process, or no /proc. */
export function ownerOf(port: number): Owner | null {
  const sockets = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap(file => listening(file, port)))
  if (sockets.size === 0) return null
  for (const pid of readDirectory('/proc').filter(name => /^\d+$/.test(name)))
    for (const descriptor of readDirectory(`/proc/${pid}/fd`))
      if (sockets.has(linkOf(`/proc/${pid}/fd/${descriptor}`)))
        return { pid: Number(pid), name: textOf(`/proc/${pid}/comm`).trim() || 'a program' }
  return null
}

/** Columns of the table: number, local address, remote address, state (0A: listening), …, the socket's inode as the tenth. */
function listening(file: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return textOf(file)
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => state === '0A' && local.endsWith(ending))
    .map(columns => `socket:[${columns[9]}]`)
}

// Processes come and go, and those of other users cannot be read: ignore what is unreadable.
const readDirectory = (dir: string) => attempt(() => readdirSync(dir), [])
const textOf = (file: string) => attempt(() => readFileSync(file, 'utf8'), '')
const linkOf = (file: string) => attempt(() => readlinkSync(file), '')

function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
