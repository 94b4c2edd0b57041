#!/usr/bin/env node
// A fake codex: `codex exec --json`, and `codex app-server` with its threads.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { args, openQuestions, openSession, owing, perform, prepare, say, takeTurn, value } from './stand-in.mjs'

const version = 'codex-cli 9.9.9'
/** How it reports an error of the service. */
const inWords = (status, text) => {
  if (status >= 500) return 'We’re currently experiencing high demand, which may cause temporary errors.'
  return status ? `unexpected status ${status}: ${text}` : text
}

/** Usage covers the whole session, in cold and warm mode alike. */
function usedUp(session, used) {
  const file = join(process.env.HOME, '.claude-stand-in', `${session}.used`)
  const total = used + (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
  writeFileSync(file, String(total))
  return total
}

if (args[0] === 'app-server') await serve()
else await execute()

async function execute() {
  const command = {
    id: 'item_1',
    type: 'command_execution',
    command: "bash -lc 'cat memory.md'",
    aggregated_output: '',
  }
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
    permits: () => (args.includes('--dangerously-bypass-approvals-and-sandbox') ? 'allowed' : 'refused'),
    part: text => say({ type: 'item.completed', item: { id: 'item_0', type: 'agent_message', text } }),
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

/** JSON-RPC without a version field, one message per line. */
async function serve() {
  prepare({ version })
  /** Loaded threads keep the instructions they were loaded with. */
  const threads = new Map()
  const closing = new Set()
  const questions = openQuestions()
  let requests = 0
  let greeted = false

  const emit = (method, params) => say({ method, params })
  const refusal = message => ({ error: { code: -32600, message } })
  const opened = (id, session, { baseInstructions, model, approvalPolicy, sandbox, config }) => {
    const shell =
      config?.['features.shell_tool'] === false
        ? 'refused'
        : approvalPolicy === 'untrusted'
          ? 'asked'
          : sandbox === 'danger-full-access'
            ? 'allowed'
            : 'refused'
    threads.set(id, { session, system: baseInstructions ?? '', current: null, shell })
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
      // A thread that is already loaded is joined as it is; other options are ignored.
      if (threads.has(id)) return { result: { thread: { id }, model: 'stand-in-model' } }
      const session = openSession(id, undefined, refusal, lost => `no rollout found for thread id ${lost}`)
      return session.error ? session : opened(id, session, params)
    },
    'thread/unsubscribe': ({ threadId }) => {
      if (!threads.delete(threadId)) return { result: { status: 'notLoaded' } }
      closing.add(threadId)
      setTimeout(() => {
        closing.delete(threadId)
        emit('thread/closed', { threadId })
      }, 5)
      return { result: { status: 'unsubscribed' } }
    },
    'thread/backgroundTerminals/clean': () => ({ result: {} }),
    'turn/start': ({ threadId, input }) => {
      const thread = threads.get(threadId)
      if (!thread) return refusal(`thread not found: ${threadId}`)
      // Sent before the answer: it must not be taken for the requested turn.
      if (owing.delete(threadId)) unasked(threadId, 'late words that nobody asked for')
      const turn = { id: crypto.randomUUID(), status: 'inProgress', error: null }
      thread.current = { turn, stop: new AbortController(), mail: [] }
      void take(threadId, thread, thread.current, input[0].text)
      return { result: { turn } }
    },
    'turn/steer': ({ threadId, expectedTurnId, input }) => {
      const current = threads.get(threadId)?.current
      if (!current || current.turn.id !== expectedTurnId) return refusal('no active turn to steer')
      current.mail.push(input[0].text)
      return { result: { turnId: expectedTurnId } }
    },
    'turn/interrupt': ({ threadId, turnId }) => {
      const current = threads.get(threadId)?.current
      if (current?.turn.id !== turnId) return refusal('no active turn to interrupt')
      current.stop.abort()
      return { result: {} }
    },
  }

  /** A turn that it starts by itself. */
  function unasked(threadId, text) {
    const turn = { id: crypto.randomUUID(), status: 'inProgress', error: null }
    const about = { threadId, turnId: turn.id }
    emit('turn/started', { threadId, turn })
    emit('item/agentMessage/delta', { delta: text, itemId: 'msg_9', ...about })
    emit('item/completed', { item: { type: 'agentMessage', id: 'msg_9', text }, ...about })
    emit('turn/completed', { threadId, turn: { ...turn, status: 'completed' } })
  }

  /** An agent that a turn starts, in a thread of its own. */
  function spawnAgent(leader, mail) {
    const threadId = crypto.randomUUID()
    const turn = { id: crypto.randomUUID(), status: 'inProgress', error: null }
    threads.set(threadId, { current: { turn, stop: new AbortController(), mail } })
    const item = {
      type: 'collabAgentToolCall',
      id: `spawn-${threadId}`,
      tool: 'spawnAgent',
      receiverThreadIds: [threadId],
    }
    emit('item/started', { item, ...leader })
    emit('turn/started', { threadId, turn })
    return { threadId, turnId: turn.id }
  }

  async function take(threadId, thread, { turn, stop, mail }, prompt) {
    const about = { threadId, turnId: turn.id }
    let end = { status: 'completed', error: null }
    let thought = false
    const command = { type: 'commandExecution', id: 'call_1', command: "/bin/bash -lc 'cat memory.md'" }
    let messages = 0
    let id = ''
    const voice = {
      system: thread.system,
      begin() {
        emit('turn/started', { threadId, turn })
        const item = { type: 'userMessage', id: 'user_1', content: [{ type: 'text', text: prompt, text_elements: [] }] }
        for (const phase of ['started', 'completed']) emit(`item/${phase}`, { item, ...about })
      },
      open() {
        id = `msg_${++messages}`
        emit('item/started', { item: { type: 'agentMessage', id, text: '' }, ...about })
      },
      delta: delta => emit('item/agentMessage/delta', { delta, itemId: id, ...about }),
      part(text, { input, output }) {
        emit('item/completed', { item: { type: 'agentMessage', id, text }, ...about })
        const total = { inputTokens: input * messages, outputTokens: output * messages }
        emit('thread/tokenUsage/updated', { tokenUsage: { total, last: total }, ...about })
      },
      // Like the real one with models that hide their thoughts: reports only the start of thinking.
      think() {
        if (!thought) emit('item/started', { item: { type: 'reasoning', id: 'rs_1', summary: [] }, ...about })
        thought = true
      },
      unasked: text => unasked(threadId, text),
      mail,
      hearsAll: true,
      heard(text) {
        const item = { type: 'userMessage', id: `user_${text.length}`, content: [{ type: 'text', text }] }
        for (const phase of ['started', 'completed']) emit(`item/${phase}`, { item, ...about })
      },
      permits: () => thread.shell,
      ask({ id: itemId, command, sub }, signal) {
        const from = sub ? spawnAgent(about, mail) : about
        const id = ++requests
        const quoted = `/bin/bash -lc '${command.replaceAll("'", "'\"'\"'")}'`
        const params = { kind: 'command', itemId, command: quoted, cwd: process.cwd(), ...from }
        say({ id, method: 'item/commandExecution/requestApproval', params })
        const resolved = () => emit('serverRequest/resolved', { threadId: from.threadId, requestId: id })
        return questions
          .wait(id, signal, () => null)
          .then(answer => {
            resolved()
            return answer && { allow: answer.decision === 'accept', message: 'rejected by user' }
          })
      },
      used({ id, command, sub }, phase, result) {
        if (sub) return
        const item = { type: 'commandExecution', id, command: `/bin/bash -lc '${command}'` }
        if (phase === 'started') return emit('item/started', { item: { ...item, status: 'inProgress' }, ...about })
        const { output: aggregatedOutput, exit: exitCode } = result
        const status = exitCode === null ? 'declined' : exitCode === 0 ? 'completed' : 'failed'
        emit('item/completed', { item: { ...item, status, aggregatedOutput, exitCode }, ...about })
      },
      tool: phase =>
        phase === 'started'
          ? emit('item/started', { item: { ...command, status: 'inProgress' }, ...about })
          : emit('item/completed', { item: { ...command, status: 'completed', exitCode: 0 }, ...about }),
      answer(text, used) {
        emit('item/completed', { item: { type: 'agentMessage', id, text }, ...about })
        const total = { inputTokens: usedUp(threadId, used), outputTokens: 7 }
        emit('thread/tokenUsage/updated', { tokenUsage: { total, last: total }, ...about })
      },
      error(status, text) {
        const codexErrorInfo = status >= 500 ? 'internalServerError' : 'other'
        emit('error', { error: { message: 'Reconnecting... 1/5' }, willRetry: true, ...about })
        end = { status: 'failed', error: { message: inWords(status, text), codexErrorInfo } }
      },
    }
    // The answer to the request is sent first.
    await null
    await takeTurn(voice, thread.session, prompt, stop.signal)
    thread.session.resumed = true
    thread.current = null
    if (stop.signal.aborted) end = { status: 'interrupted', error: null }
    emit('turn/completed', { threadId, turn: { ...turn, ...end } })
  }

  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params, result } = JSON.parse(line)
    if (id === undefined) continue
    if (method === undefined) {
      questions.answer(id, result ?? { decision: 'decline' })
      continue
    }
    const answer = methods[method]
    if (!answer) say({ id, ...refusal(`Invalid request: unknown variant \`${method}\``) })
    else say({ id, ...(greeted || method === 'initialize' ? answer(params) : refusal('Not initialized')) })
  }
  // Like the real one: it exits even in the middle of a turn.
  process.exit(0)
}
