// Reads the log files: the newest lines, or the lines after a cursor, even if files were renamed or created meanwhile.
import { hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type LogLevel, type LogLine, type LogPage, type LogQuery, logLevels } from '../base/logs.ts'
import { logName, mostOldLogs } from './files.ts'

export interface LogReader {
  /** False: there are no log files. */
  any(): Promise<boolean>
  read(query: LogQuery): Promise<LogPage>
}

interface OpenFile {
  readonly handle: FileHandle
  /** Derived from its first line, which stays the same when the file is renamed. */
  readonly id: string
  readonly size: number
}

const chunkBytes = 256 * 1024
/** Enough of the first line to identify it. */
const headBytes = 1024
const newline = 10

export function createLogReader(dir: string): LogReader {
  return {
    any: async () => (await withFiles(dir, async files => files.length)) > 0,
    read: query =>
      withFiles(dir, files => (query.after === null ? newestOf(files, query) : sinceCursor(files, query, query.after))),
  }
}

/** Oldest first. */
async function withFiles<T>(dir: string, use: (files: readonly OpenFile[]) => Promise<T>): Promise<T> {
  const files: OpenFile[] = []
  const opened: FileHandle[] = []
  try {
    // Newest first: a file that is renamed meanwhile is then found twice instead of never.
    for (let age = 0; age <= mostOldLogs; age++) {
      const handle = await open(join(dir, age === 0 ? logName : `${logName}.${age}`)).catch(ifMissing)
      if (!handle) continue
      opened.push(handle)
      const id = await idOf(handle)
      if (id !== null && files.every(file => file.id !== id))
        files.unshift({ handle, id, size: (await handle.stat()).size })
    }
    return await use(files)
  } finally {
    await Promise.all(opened.map(handle => handle.close()))
  }
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
  throw new Error(`the log cannot be read (${error.code}); check its permissions`, { cause: error })
}

/** Null: it has no whole line yet. */
async function idOf(handle: FileHandle): Promise<string | null> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  const end = buffer.subarray(0, bytesRead).indexOf(newline)
  if (end < 0 && bytesRead < headBytes) return null
  return hash('sha256', buffer.subarray(0, end < 0 ? headBytes : end)).slice(0, 16)
}

const cursorAt = (id: string, offset: number): string => `${id}.${offset}`

async function newestOf(files: readonly OpenFile[], query: LogQuery): Promise<LogPage> {
  const wanted = matcher(query)
  const lines: LogLine[] = []
  let cursor = ''
  for (const { handle, id, size } of files.toReversed()) {
    let end = await endOfLines(handle, size)
    if (cursor === '') cursor = cursorAt(id, end)
    while (end > 0 && lines.length < query.most) {
      const start = await startOfLines(handle, Math.max(0, end - chunkBytes), end)
      const found: LogLine[] = []
      for (const text of (await bytesOf(handle, start, end)).toString('utf8').split('\n')) {
        const line = wanted(text)
        if (line) found.push(line)
      }
      lines.unshift(...found)
      end = start
    }
    if (lines.length >= query.most) break
  }
  return { lines: lines.slice(-query.most), cursor, more: false, gap: false }
}

async function sinceCursor(files: readonly OpenFile[], query: LogQuery, after: string): Promise<LogPage> {
  const wanted = matcher(query)
  const [id = '', written = ''] = after.split('.')
  const at = files.findIndex(file => file.id === id)
  const gap = at < 0 && after !== ''
  const lines: LogLine[] = []
  let cursor = gap ? '' : after
  let offset = at >= 0 && /^\d{1,15}$/.test(written) ? Number(written) : 0
  for (const file of files.slice(Math.max(0, at))) {
    const end = await endOfLines(file.handle, file.size)
    while (offset < end) {
      const bytes = await bytesOf(file.handle, offset, await endOfChunk(file.handle, offset, end))
      for (let from = 0; from < bytes.length; ) {
        const stop = bytes.indexOf(newline, from)
        const line = wanted(bytes.toString('utf8', from, stop < 0 ? bytes.length : stop))
        from = stop < 0 ? bytes.length : stop + 1
        if (line) lines.push(line)
        if (lines.length === query.most) return { lines, cursor: cursorAt(file.id, offset + from), more: true, gap }
      }
      offset += bytes.length
    }
    cursor = cursorAt(file.id, offset)
    offset = 0
  }
  return { lines, cursor, more: false, gap }
}

async function bytesOf(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start)
  return buffer.subarray(0, bytesRead)
}

/** The end of the last whole line: a line that is being written is left for the next read. */
async function endOfLines(handle: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - headBytes)
    const last = (await bytesOf(handle, start, end)).lastIndexOf(newline)
    if (last >= 0) return start + last + 1
    end = start
  }
  return 0
}

/** Where the first whole line after `from` starts; the start of its line if there is none. */
async function startOfLines(handle: FileHandle, from: number, end: number): Promise<number> {
  for (let start = from; start > 0; start = Math.max(0, start - chunkBytes)) {
    const first = (await bytesOf(handle, start - 1, end - 1)).indexOf(newline)
    if (first >= 0) return start + first
  }
  return 0
}

async function endOfChunk(handle: FileHandle, offset: number, end: number): Promise<number> {
  for (let stop = Math.min(offset + chunkBytes, end); stop < end; stop = Math.min(stop + chunkBytes, end)) {
    const last = (await bytesOf(handle, offset, stop)).lastIndexOf(newline)
    if (last >= 0) return offset + last + 1
  }
  return end
}

const numbers: Readonly<Record<LogLevel, number>> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

/** Most lines are filtered before they are parsed as JSON, which costs the most. */
function matcher({ level, words }: LogQuery): (text: string) => LogLine | null {
  const least = numbers[level]
  const wanted = words.toLowerCase()
  return text => {
    const [head = '', number = '0'] = /^\{"level":(\d+),"time":"[^"]*",?/.exec(text) ?? []
    if (head === '' || Number(number) < least) return null
    if (wanted !== '' && !text.toLowerCase().includes(wanted, head.length)) return null
    return lineOf(text)
  }
}

/** Null: truncated, or not a log line. */
function lineOf(text: string): LogLine | null {
  try {
    const { level, time, msg = '', ...fields } = JSON.parse(text) as Record<string, unknown>
    const at = Date.parse(String(time))
    const name = logLevels.findLast(one => numbers[one] <= Number(level))
    return Number.isNaN(at) || !name ? null : { at, level: name, text: String(msg), fields }
  } catch {
    return null
  }
}
