#!/usr/bin/env node
// A fake gemini: `gemini --output-format stream-json` and `gemini --acp`.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { args, openQuestions, openSession, perform, prepare, say, takeTurn, value } from './stand-in.mjs'

let call = 1
const common = {
  version: '9.9.9',
  lost: id => `Invalid session identifier "${id}".`,
  // The real one exits with the HTTP status modulo 256.
  exitOnError: 145,
  // Failed turns are not in its history.
  forgetsFailures: true,
}

/** What its rules say about the shell: of those that match, the one with the highest priority. */
function permits() {
  const rules = readFileSync(value('--admin-policy'), 'utf8')
    .split('[[rule]]')
    .filter(
      rule => /toolName = .*"(?:run_shell_command|\*)"/.test(rule) && !/mcpName|commandPrefix|commandRegex/.test(rule),
    )
    .map(rule => ({
      decision: /decision = "(\w+)"/.exec(rule)?.[1],
      priority: Number(/priority = (\d+)/.exec(rule)?.[1]),
    }))
    .sort((a, b) => b.priority - a.priority)
  const { decision } = rules[0] ?? {}
  if (decision === 'ask_user') return args.includes('--acp') ? 'asked' : 'refused'
  return decision === 'allow' && value('--approval-mode') === 'yolo' ? 'allowed' : 'refused'
}

if (args.includes('--acp')) await serve()
else await emit()

async function emit() {
  const stats = used => {
    const tokens = { total_tokens: used + 7, input_tokens: used, output_tokens: 7 }
    return { ...tokens, tool_calls: 0, models: { 'stand-in': tokens } }
  }
  await perform({
    ...common,
    resume: value('--resume'),
    chosen: value('--session-id'),
    systemFile: process.env.GEMINI_SYSTEM_MD,
    lost: id => `Error resuming session: ${common.lost(id)}`,
    begin(session, prompt) {
      say({ type: 'init', session_id: session, model: 'stand-in' })
      say({ type: 'message', role: 'user', content: prompt })
    },
    delta: text => say({ type: 'message', role: 'assistant', content: text, delta: true }),
    part() {},
    permits,
    tool: phase =>
      phase === 'started'
        ? say({ type: 'tool_use', tool_name: 'read_file', tool_id: 't1', parameters: { file_path: 'memory.md' } })
        : say({ type: 'tool_result', tool_id: 't1', status: 'success', output: 'ok' }),
    answer: (_, used) => say({ type: 'result', status: 'success', stats: stats(used) }),
    error: (status, text) =>
      say({
        type: 'result',
        status: 'error',
        error: { type: 'Error', message: status ? `got status: ${status}. ${text}` : text },
        stats: stats(0),
      }),
  })
}

/** All sessions in one process. Each has the system prompt that was in the file when it was created, loaded or changed its mode. */
async function serve() {
  prepare(common)
  const sessions = new Map()
  const questions = openQuestions()
  let requests = 0
  /** It asks for one call after the other. */
  let asked = Promise.resolve()
  const answer = (id, result) => say({ jsonrpc: '2.0', id, result })
  const refuse = (id, code, message, data) => say({ jsonrpc: '2.0', id, error: { code, message, data } })
  const update = (sessionId, fields) =>
    say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: fields } })
  const chunk = text => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  const systemPrompt = () => readFileSync(process.env.GEMINI_SYSTEM_MD, 'utf8')
  const settle = id =>
    setTimeout(() => update(id, { sessionUpdate: 'available_commands_update', availableCommands: [] }))
  const keep = (session, { mcpServers }) =>
    sessions.set(session.id, {
      ...session,
      mcpConfig: JSON.stringify(mcpServers),
      mode: value('--approval-mode'),
      system: systemPrompt(),
    })

  const voiceOf = (request, session) => ({
    ...common,
    system: session.system,
    mcpConfig: session.mcpConfig,
    begin: () => {},
    delta: text => update(session.id, chunk(text)),
    part: () => (call += 1),
    think: text => update(session.id, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }),
    unasked(text) {
      update(session.id, chunk(text))
      answer(9999, { stopReason: 'end_turn' })
    },
    permits,
    ask({ id, command }) {
      const toolCall = { toolCallId: `run_shell_command__${id}`, status: 'pending', title: command, kind: 'execute' }
      const content = [
        { type: 'content', content: { type: 'text', text: `[current working directory ${process.cwd()}]` } },
      ]
      const options = [
        { optionId: 'proceed_always', name: 'Allow for this session', kind: 'allow_always' },
        { optionId: 'proceed_once', name: 'Allow', kind: 'allow_once' },
        { optionId: 'cancel', name: 'Reject', kind: 'reject_once' },
      ]
      asked = asked.then(() => {
        const id = `r${++requests}`
        const params = { sessionId: session.id, options, toolCall: { ...toolCall, content, locations: [] } }
        say({ jsonrpc: '2.0', id, method: 'session/request_permission', params })
        // Like the real one: it waits for the answer also after it was cancelled.
        return questions.wait(id, new AbortController().signal)
      })
      return asked.then(said => {
        if (said?.error !== undefined) return { allow: false, message: String(said.error) }
        const { outcome, optionId } = said?.result?.outcome ?? {}
        return { allow: outcome === 'selected' && optionId === 'proceed_once', message: 'was canceled by the user.' }
      })
    },
    used({ id, command }, phase, result) {
      if (phase === 'started') return
      const text = phase === 'failed' && result.exit === null ? result.output : ''
      update(session.id, {
        sessionUpdate: 'tool_call_update',
        toolCallId: `run_shell_command__${id}`,
        status: text === '' ? 'completed' : 'failed',
        ...(text === '' ? { title: command } : {}),
        // It does not report the output.
        content: text === '' ? [] : [{ type: 'content', content: { type: 'text', text } }],
        kind: 'execute',
      })
    },
    // Updates do not name their turn.
    unaskedOnlyBetween: true,
    tool: phase =>
      update(session.id, {
        sessionUpdate: phase === 'started' ? 'tool_call' : 'tool_call_update',
        toolCallId: `t${call}`,
        status: phase === 'started' ? 'in_progress' : 'completed',
        title: 'memory.md',
        content: [],
        kind: 'read',
      }),
    answer(_, used) {
      const token_count = { input_tokens: used, output_tokens: 7 }
      const quota = { token_count, model_usage: [{ model: 'stand-in', token_count }] }
      answer(request, { stopReason: 'end_turn', _meta: { quota } })
    },
    error: (status, text) => refuse(request, status || 500, text),
  })

  /** Each session has its own servers. When it is loaded again, the former ones stay until the process ends. */
  const equip = (mcpServers = []) => {
    for (const { command, args, env } of mcpServers) {
      if (command === undefined) continue
      const own = Object.fromEntries(env.map(({ name, value }) => [name, value]))
      spawn(command, args, { env: { ...process.env, ...own }, stdio: ['pipe', 'ignore', 'ignore'] }).on(
        'error',
        () => {},
      )
    }
  }

  const methods = {
    initialize: (id, _) => answer(id, { protocolVersion: 1, agentCapabilities: { loadSession: true } }),
    'session/new'(id, params) {
      equip(params.mcpServers)
      const session = openSession(undefined, undefined, () => undefined, common.lost)
      keep(session, params)
      answer(id, { sessionId: session.id })
      settle(session.id)
    },
    'session/load'(id, params) {
      const { sessionId } = params
      const lost = details => void refuse(id, -32603, 'Internal error', { details })
      const session = openSession(sessionId, undefined, lost, common.lost)
      if (!session) return
      equip(params.mcpServers)
      keep(session, params)
      // The history is replayed, and its end comes after the answer.
      update(session.id, { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'words of old' } })
      answer(id, {})
      update(session.id, chunk('an answer of old'))
      settle(session.id)
    },
    'session/set_mode'(id, { sessionId, modeId }) {
      const session = sessions.get(sessionId)
      if (session.mode !== modeId) {
        session.system = systemPrompt()
        update(sessionId, chunk(`[MODE_UPDATE] ${modeId}`))
      }
      session.mode = modeId
      answer(id, {})
    },
    async 'session/prompt'(id, { sessionId, prompt }) {
      const session = sessions.get(sessionId)
      if (!session) return refuse(id, -32602, `Session not found: ${sessionId}`)
      const turn = new AbortController()
      session.turn = turn
      await takeTurn(voiceOf(id, session), session, prompt[0].text, turn.signal)
      session.resumed = true
      if (turn.signal.aborted) answer(id, { stopReason: 'cancelled' })
    },
    'session/cancel': (_, { sessionId }) => sessions.get(sessionId)?.turn?.abort(),
  }

  let rest = ''
  process.stdin.setEncoding('utf8')
  for await (const text of process.stdin) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const { id, method, params, ...said } = JSON.parse(line)
      if (method === undefined) questions.answer(id, said)
      else if (methods[method]) void methods[method](id, params)
      else refuse(id, -32601, 'Method not found')
    }
  }
  process.exit(0)
}
