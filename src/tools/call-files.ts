// The gateway's tools through files, for agents without MCP: each run has a folder for its calls and their results.

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
import type { ToolAnswer, ToolCalls } from '../base/tools.ts'
import { errorCode, isMissing } from '../base/unknown.ts'

export interface Calls {
  /** Answers calls for this key until `leave`, which must come before the key expires; then the folder is removed. */
  open(key: string): { leave(): void }
  /** For the system prompt: how to call, and the list of tools. */
  wordsFor(key: string): string
}

export interface CallsParts {
  /** Agents name the folder relative to this. */
  readonly workspace: string
  readonly toolServer: ToolCalls
  trouble(error: unknown): void
}

const folder = join('ipc', 'calls')
const lookEveryMs = 250
const never = new AbortController().signal
const most = { bytes: 256 * 1024, atOnce: 8 }
/** Characters with no meaning in a path. */
const request = /^([A-Za-z0-9][A-Za-z0-9_-]{0,63})\.json$/

export function createCalls({ workspace, toolServer, trouble }: CallsParts): Calls {
  let swept = false

  return {
    open(key) {
      const dir = join(workspace, folder, key)
      const over = new AbortController()
      let watcher: FSWatcher | null = null
      let timer: NodeJS.Timeout | undefined
      let look: Look | null = null
      try {
        // Folders left behind by a killed gateway belong to nobody.
        if (!swept) rmSync(join(workspace, folder), { recursive: true, force: true })
        swept = true
        mkdirSync(dir, { recursive: true, mode: 0o700 })
        look = createLook(dir, (tool, args) => toolServer.call(key, tool, args, never), over.signal, trouble)
        timer = setInterval(look.now, lookEveryMs)
        watcher = watch(dir, look.now)
        watcher.on('error', () => watcher?.close()) // the timer still polls
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
      const tools = (toolServer.list(key) ?? []).map(({ name, about, takes }) => {
        const fields = Object.entries(takes).map(([field, { required }]) => (required ? field : `${field}?`))
        return `- ${name}(${fields.join(', ')}): ${about}`
      })
      if (tools.length === 0) return ''
      return [
        '## Tools of the gateway',
        `Call them through files. Write ${at}/NAME.json, with a new NAME for each call: {"tool": "…", "arguments": {…}}. A moment later the answer is in ${at}/NAME.result.md; if it is not there yet, read again. The folder is for this turn only; do not mention it to anybody.`,
        tools.join('\n'),
      ].join('\n\n')
    },
  }
}

type Call = (tool: string, args: unknown) => Promise<ToolAnswer>

interface Look {
  /** Not reentrant. */
  now(): void
  /** Carries out the calls written in time; nobody reads their results any more. */
  last(): void
}

function createLook(dir: string, call: Call, over: AbortSignal, trouble: (error: unknown) => void): Look {
  const busy = new Set<string>()
  /** Requests that could not be read in the last pass, with their stamp: they may be half written. */
  const unread = new Map<string, string>()

  /** Null if there is nothing to do yet. The file is removed before the call, so that it is never carried out twice. */
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
    // Under a temporary name: nobody reads half a result, and an existing link is not followed.
    const draft = join(dir, `.${name}.draft`)
    await rm(draft, { recursive: true, force: true })
    await writeFile(draft, `${ok ? '' : 'NOT DONE: '}${text}\n`, { flag: 'wx', mode: 0o600 })
    await rename(draft, join(dir, `${name}.result.md`))
  }

  // The agent may have removed the folder.
  const waiting = () => (existsSync(dir) ? readdirSync(dir).flatMap(entry => request.exec(entry)?.[1] ?? []) : [])
  const report = (error: unknown) => {
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
            .catch(report)
            .finally(() => busy.delete(name))
        }
      } catch (error) {
        report(error)
      }
    },
    last() {
      for (const name of waiting()) begin(name)
    },
  }
}

type Found =
  | { readonly tool: string; readonly args: unknown }
  /** `stamp` shows whether it has changed since. */
  | { readonly why: string; readonly stamp: string }

/** Null if it has disappeared. */
function readRequest(file: string): Found | null {
  let handle: number
  try {
    // Does not follow a link, and does not block on a pipe.
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    return isMissing(error) ? null : { why: 'This is not a file that can be read.', stamp: String(errorCode(error)) }
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
