#!/usr/bin/env node
// The stand-in for codex: `codex exec --json`, and `codex app-server` with its threads.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { args, openSession, perform, prepare, say, takeTurn, value } from './stand-in.mjs'

const version = 'codex-cli 9.9.9'
/** What it makes of an answer of the service. */
const inWords = (status, text) => {
  if (status >= 500) return 'We’re currently experiencing high demand, which may cause temporary errors.'
  return status ? `unexpected status ${status}: ${text}` : text
}

/** It counts for the whole session, whichever way its turns were taken. */
function usedUp(session, used) {
  const file = join(process.env.HOME, '.claude-stand-in', `${session}.used`)
  const total = used + (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
  writeFileSync(file, String(total))
  return total
}

if (args[0] === 'app-server') await serve()
else await execute()

async function execute() {
  const command = { id: 'item_1', type: 'command_execution', command: "bash -lc 'ls'", aggregated_output: '' }
  let thread = ''
  await perform({
    version,
    resume: args.includes('resume') ? value('resume') : undefined,
    systemFile:
      JSON.parse(args.find(arg => arg.startsWith('model_instructions_file='))?.split('=')[1] ?? 'null') ?? undefined,
    lost: id => `Error: thread/resume failed: no rollout found for thread id ${id} (code -32600)`,
    begin(session) {
      thread = session
      say({ type: 'thread.started', thread_id: session })
      say({ type: 'turn.started' })
    },
    delta() {},
    tool: phase =>
      say({
        type: `item.${phase === 'started' ? 'started' : 'completed'}`,
        item: { ...command, status: phase === 'started' ? 'in_progress' : 'completed' },
      }),
    answer(text, used) {
      say({ type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text } })
      say({ type: 'turn.completed', usage: { input_tokens: usedUp(thread, used), output_tokens: 7 } })
    },
    error(status, text) {
      say({ type: 'error', message: 'Reconnecting... 1/5' })
      say({ type: 'turn.failed', error: { message: inWords(status, text) } })
    },
    exitOnError: 1,
  })
}

/** JSON-RPC without its version, a line each. */
async function serve() {
  prepare({ version })
  /** Those in memory: they keep the instructions they were loaded with. */
  const threads = new Map()
  const closing = new Set()
  let greeted = false

  const tell = (method, params) => say({ method, params })
  const refusal = message => ({ error: { code: -32600, message } })
  const opened = (id, session, { baseInstructions, model }) => {
    threads.set(id, { session, system: baseInstructions ?? '', current: null })
    return { result: { thread: { id }, model: model ?? 'stand-in-model' } }
  }

  const methods = {
    initialize: () => {
      greeted = true
      return { result: { userAgent: 'stand-in' } }
    },
    'account/login/start': () => ({ result: { type: 'apiKey' } }),
    'thread/start': params => {
      const session = openSession(undefined, undefined, refusal, String)
      return opened(session.id, session, params)
    },
    'thread/resume': params => {
      const id = params.threadId
      if (closing.has(id)) return refusal(`thread ${id} is closing; retry thread/resume after the thread is closed`)
      // Whoever is there already is joined, whatever else was wished.
      if (threads.has(id)) return { result: { thread: { id }, model: 'stand-in-model' } }
      const session = openSession(id, undefined, refusal, lost => `no rollout found for thread id ${lost}`)
      return session.error ? session : opened(id, session, params)
    },
    'thread/unsubscribe': ({ threadId }) => {
      if (!threads.delete(threadId)) return { result: { status: 'notLoaded' } }
      closing.add(threadId)
      setTimeout(() => {
        closing.delete(threadId)
        tell('thread/closed', { threadId })
      }, 5)
      return { result: { status: 'unsubscribed' } }
    },
    'thread/backgroundTerminals/clean': () => ({ result: {} }),
    'turn/start': ({ threadId, input }) => {
      const thread = threads.get(threadId)
      if (!thread) return refusal(`thread not found: ${threadId}`)
      const turn = { id: crypto.randomUUID(), status: 'inProgress', error: null }
      thread.current = { turn, stop: new AbortController() }
      void take(threadId, thread, thread.current, input[0].text)
      return { result: { turn } }
    },
    'turn/interrupt': ({ threadId, turnId }) => {
      const current = threads.get(threadId)?.current
      if (current?.turn.id !== turnId) return refusal('no active turn to interrupt')
      current.stop.abort()
      return { result: {} }
    },
  }

  async function take(threadId, thread, { turn, stop }, prompt) {
    const about = { threadId, turnId: turn.id }
    let end = { status: 'completed', error: null }
    const command = { type: 'commandExecution', id: 'call_1', command: "/bin/bash -lc 'ls'" }
    const voice = {
      system: thread.system,
      begin() {
        tell('turn/started', { threadId, turn })
        const item = { type: 'userMessage', id: 'user_1', content: [{ type: 'text', text: prompt, text_elements: [] }] }
        for (const phase of ['started', 'completed']) tell(`item/${phase}`, { item, ...about })
        tell('item/started', { item: { type: 'agentMessage', id: 'msg_1', text: '' }, ...about })
      },
      delta: delta => tell('item/agentMessage/delta', { delta, itemId: 'msg_1', ...about }),
      tool: phase =>
        phase === 'started'
          ? tell('item/started', { item: { ...command, status: 'inProgress' }, ...about })
          : tell('item/completed', { item: { ...command, status: 'completed', exitCode: 0 }, ...about }),
      answer(text, used) {
        tell('item/completed', { item: { type: 'agentMessage', id: 'msg_1', text }, ...about })
        const total = { inputTokens: usedUp(threadId, used), outputTokens: 7 }
        tell('thread/tokenUsage/updated', { tokenUsage: { total, last: total }, ...about })
      },
      error(status, text) {
        const codexErrorInfo = status >= 500 ? 'internalServerError' : 'other'
        tell('error', { error: { message: 'Reconnecting... 1/5' }, willRetry: true, ...about })
        end = { status: 'failed', error: { message: inWords(status, text), codexErrorInfo } }
      },
    }
    // The answer to the request goes out first.
    await null
    await takeTurn(voice, thread.session, prompt, stop.signal)
    thread.session.resumed = true
    thread.current = null
    if (stop.signal.aborted) end = { status: 'interrupted', error: null }
    tell('turn/completed', { threadId, turn: { ...turn, ...end } })
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) continue
    const answer = methods[method]
    if (!answer) say({ id, ...refusal(`Invalid request: unknown variant \`${method}\``) })
    else say({ id, ...(greeted || method === 'initialize' ? answer(params) : refusal('Not initialized')) })
  }
  // As the real one: whatever it is doing, it leaves.
  process.exit(0)
}
