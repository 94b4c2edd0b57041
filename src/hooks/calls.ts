// The gateway's tools by files, for agents without MCP: a folder for each run in which calls are written and answers read.
import {
  closeSync,
  constants,
  existsSync,
  type FSWatcher,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
} from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ToolAnswer, ToolDesk } from '../base/tools.ts'

export interface Calls {
  /** Answers what is written for this key until it is left, which must be before the key is; then the folder is gone. */
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
const never = new AbortController().signal
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
      let look: Look | null = null
      try {
        // What a killed gateway left behind is nobody's any more.
        if (!swept) rmSync(join(workspace, folder), { recursive: true, force: true })
        swept = true
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        look = openLook(dir, (tool, args) => desk.call(key, tool, args, never), over.signal, trouble)
        timer = setInterval(look.now, lookEveryMs)
        watcher = watch(dir, look.now)
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
            look?.last()
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

interface Look {
  /** One look at a time. */
  now(): void
  /** What is there was written in time, and is done; its answers have no reader any more. */
  last(): void
}

function openLook(dir: string, call: Call, over: AbortSignal, trouble: (error: unknown) => void): Look {
  const busy = new Set<string>()
  /** Those that could not be read when last looked at, as they were then: they may be half written. */
  const unread = new Map<string, string>()

  /** Null: there is nothing to do, or not yet. Taken away before it is done, so that it is never done twice. */
  function begin(name: string): Promise<ToolAnswer> | null {
    const file = join(dir, `${name}.json`)
    const found = readRequest(file)
    if (found === null) return null
    if ('why' in found) {
      const before = unread.get(name)
      unread.set(name, found.stamp)
      if (before !== found.stamp) return null
    }
    unread.delete(name)
    rmSync(file, { recursive: true, force: true })
    return 'why' in found ? Promise.resolve({ ok: false, text: found.why }) : call(found.tool, found.args)
  }

  async function answer(name: string, answering: Promise<ToolAnswer>): Promise<void> {
    const { ok, text } = await answering
    if (over.aborted) return
    // By a name of its own: nobody reads half of it, and no link that lies there is followed.
    const draft = join(dir, `.${name}.draft`)
    await rm(draft, { recursive: true, force: true })
    await writeFile(draft, `${ok ? '' : 'NOT DONE: '}${text}\n`, { flag: 'wx', mode: 0o600 })
    await rename(draft, join(dir, `${name}.result.md`))
  }

  // The agent may have taken the folder away.
  const waiting = () => (existsSync(dir) ? readdirSync(dir).flatMap(entry => request.exec(entry)?.[1] ?? []) : [])
  const told = (error: unknown) => {
    if (!over.aborted) trouble(error)
  }

  return {
    now() {
      try {
        for (const name of over.aborted ? [] : waiting()) {
          if (busy.has(name) || busy.size >= most.atOnce) continue
          const answering = begin(name)
          if (!answering) continue
          busy.add(name)
          void answer(name, answering)
            .catch(told)
            .finally(() => busy.delete(name))
        }
      } catch (error) {
        told(error)
      }
    },
    last() {
      for (const name of waiting()) begin(name)
    },
  }
}

type Found =
  | { readonly tool: string; readonly args: unknown }
  /** `stamp`: tells whether it has changed since. */
  | { readonly why: string; readonly stamp: string }

/** Null: it is gone again. */
function readRequest(file: string): Found | null {
  let handle: number
  try {
    // A link is not followed, and a pipe does not keep us waiting.
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? null : { why: 'This is not a file that can be read.', stamp: String(code) }
  }
  try {
    const stat = fstatSync(handle)
    const stamp = `${stat.size} ${stat.mtimeMs}`
    if (!stat.isFile()) return { why: 'This is not a file.', stamp }
    if (stat.size > most.bytes) return { why: `The file is longer than ${most.bytes} bytes.`, stamp }
    const { tool, args } = parse(readFileSync(handle, 'utf8'))
    if (tool !== null) return { tool, args }
    return { why: 'The file must hold {"tool": "…", "arguments": {…}} in JSON.', stamp }
  } finally {
    closeSync(handle)
  }
}

function parse(text: string): { readonly tool: string | null; readonly args: unknown } {
  try {
    const found = JSON.parse(text) as { tool?: unknown; arguments?: unknown } | null
    return { tool: typeof found?.tool === 'string' ? found.tool : null, args: found?.arguments }
  } catch {
    return { tool: null, args: undefined }
  }
}
