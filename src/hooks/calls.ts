// The gateway's tools by files, for agents without MCP: a folder for each run in which calls are written and answers read.
import { constants, type FSWatcher, mkdirSync, rmSync, watch } from 'node:fs'
import { open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ToolAnswer, ToolDesk } from '../base/tools.ts'

export interface Calls {
  /** Answers what is written for this key until it is left; then the folder is gone. */
  open(key: string): { leave(): void }
  /** For the system prompt: how it is done, and what there is. */
  wordsFor(key: string): string
}

export interface CallsParts {
  /** The workspace, in which agents name the folder relatively. */
  readonly workspace: string
  readonly desk: ToolDesk
  trouble(error: unknown): void
}

const folder = join('ipc', 'calls')
const lookEveryMs = 250
const most = { bytes: 256 * 1024, atOnce: 8 }
/** Letters that mean nothing to a path. */
const request = /^([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.json$/

export function openCalls({ workspace, desk, trouble }: CallsParts): Calls {
  let swept = false

  return {
    open(key) {
      const dir = join(workspace, folder, key)
      const over = new AbortController()
      let watcher: FSWatcher | null = null
      let timer: NodeJS.Timeout | undefined
      try {
        // What a killed gateway left behind is nobody's any more.
        if (!swept) rmSync(join(workspace, folder), { recursive: true, force: true })
        swept = true
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        const look = openLook(dir, (tool, args) => desk.call(key, tool, args, over.signal), over.signal, trouble)
        timer = setInterval(look, lookEveryMs)
        watcher = watch(dir, look)
        watcher.on('error', () => watcher?.close()) // the timer goes on
      } catch (error) {
        trouble(error)
      }
      return {
        leave() {
          clearInterval(timer)
          watcher?.close()
          over.abort()
          try {
            rmSync(dir, { recursive: true, force: true })
          } catch (error) {
            trouble(error)
          }
        },
      }
    },
    wordsFor(key) {
      const at = `ipc/calls/${key}`
      const tools = (desk.list(key) ?? []).map(({ name, about, takes }) => {
        const fields = Object.entries(takes).map(([field, { required }]) => (required ? field : `${field}?`))
        return `- ${name}(${fields.join(', ')}): ${about}`
      })
      if (tools.length === 0) return ''
      return [
        '## Tools of the gateway',
        `You call them by files. Write ${at}/NAME.json, with a NAME of your own for each call: {"tool": "…", "arguments": {…}}. A moment later the answer stands in ${at}/NAME.result.md; if it is not there yet, read again. The folder is for this turn alone; tell nobody of it.`,
        tools.join('\n'),
      ].join('\n\n')
    },
  }
}

type Call = (tool: string, args: unknown) => Promise<ToolAnswer>

/** Looks at the folder, one look at a time. */
function openLook(dir: string, call: Call, over: AbortSignal, trouble: (error: unknown) => void): () => void {
  const busy = new Set<string>()
  /** Those that could not be read when last looked at, as they were then: they may be half written. */
  const unread = new Map<string, string>()
  let looking = false
  let again = false

  async function answer(name: string): Promise<void> {
    const file = join(dir, `${name}.json`)
    const found = await readRequest(file)
    if (over.aborted || found === null) return
    if ('why' in found) {
      const before = unread.get(name)
      unread.set(name, found.stamp)
      if (before !== found.stamp) return
    }
    unread.delete(name)
    // Before it is done, so that it is never done twice.
    await rm(file, { recursive: true, force: true })
    const { ok, text } = 'why' in found ? { ok: false, text: found.why } : await call(found.tool, found.args)
    if (over.aborted) return
    // By a name of its own: nobody reads half of it, and no link that lies there is followed.
    const draft = join(dir, `.${name}.draft`)
    await rm(draft, { recursive: true, force: true })
    await writeFile(draft, `${ok ? '' : 'NOT DONE: '}${text}\n`, { flag: 'wx', mode: 0o600 })
    await rename(draft, join(dir, `${name}.result.md`))
  }

  async function lookOnce(): Promise<void> {
    for (const entry of await readdir(dir)) {
      const name = request.exec(entry)?.[1]
      if (name === undefined || busy.has(name) || busy.size >= most.atOnce) continue
      busy.add(name)
      void answer(name)
        .catch(error => {
          if (!over.aborted) trouble(error)
        })
        .finally(() => busy.delete(name))
    }
  }

  return () => {
    again = true
    if (looking || over.aborted) return
    looking = true
    void (async () => {
      while (again && !over.aborted) {
        again = false
        await lookOnce()
      }
    })()
      .catch(error => {
        if (!over.aborted) trouble(error)
      })
      .finally(() => {
        looking = false
      })
  }
}

type Found =
  | { readonly tool: string; readonly args: unknown }
  /** `stamp`: tells whether it has changed since. */
  | { readonly why: string; readonly stamp: string }

/** Null: it is gone again. */
async function readRequest(file: string): Promise<Found | null> {
  // A link is not followed, and a pipe does not keep us waiting.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => error,
  )
  if (handle instanceof Error) {
    if (handle.code === 'ENOENT') return null
    return { why: 'This is not a file that can be read.', stamp: String(handle.code) }
  }
  try {
    const { size, mtimeMs, ...stat } = await handle.stat()
    const stamp = `${size} ${mtimeMs}`
    if (!isFile(stat.mode)) return { why: 'This is not a file.', stamp }
    if (size > most.bytes) return { why: `The file is longer than ${most.bytes} bytes.`, stamp }
    const { tool, args } = parse(await handle.readFile('utf8'))
    if (tool !== null) return { tool, args }
    return { why: 'The file must hold {"tool": "…", "arguments": {…}} in JSON.', stamp }
  } finally {
    await handle.close()
  }
}

const isFile = (mode: number) => (mode & constants.S_IFMT) === constants.S_IFREG

function parse(text: string): { readonly tool: string | null; readonly args: unknown } {
  try {
    const found = JSON.parse(text) as { tool?: unknown; arguments?: unknown } | null
    return { tool: typeof found?.tool === 'string' ? found.tool : null, args: found?.arguments }
  } catch {
    return { tool: null, args: undefined }
  }
}
