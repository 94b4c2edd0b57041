#!/usr/bin/env node
// A fake pi: `pi -p --mode json` and `pi --mode rpc`. It runs the extensions that it is given, as far as they handle calls of tools.
import { args, converse, openQuestions, openSession, perform, prepare, say, value } from './stand-in.mjs'

const rpc = value('--mode') === 'rpc'
/** The ids of prompts that it has not started yet. */
const queued = []
const answer = (command, more = {}) => say({ type: 'response', command, success: true, ...more })
const update = event => say({ type: 'message_update', assistantMessageEvent: event })
const spoken = message => say({ type: 'message_end', message: { role: 'assistant', model: 'stand-in', ...message } })
const end = message => {
  spoken(message)
  say({ type: 'agent_end', messages: [], willRetry: false })
  say({ type: 'agent_settled' })
}

const questions = openQuestions()
const handlers = []
for (const [i, one] of args.entries())
  if (one === '-e' && args[i + 1].endsWith('.js'))
    (await import(args[i + 1])).default({ on: (_, handler) => handlers.push(handler), registerMcpServer: () => {} })

const voice = {
  version: '9.9.9',
  resume: value('--session'),
  chosen: value('--session-id'),
  systemFile: value('--append-system-prompt'),
  lost: id => `No session found matching '${id}'`,
  begin(session, prompt) {
    // Only json mode prints a header; in rpc mode the client has to ask.
    if (rpc) answer('prompt', { id: queued.shift() })
    else say({ type: 'session', version: 3, id: session })
    say({ type: 'agent_start' })
    say({ type: 'message_end', message: { role: 'user', content: [{ type: 'text', text: prompt }] } })
  },
  open: () => update({ type: 'text_start', contentIndex: 0 }),
  part: (text, used) =>
    spoken({ content: [{ type: 'text', text }], stopReason: 'toolUse', usage: { ...used, cost: {} } }),
  delta: text => update({ type: 'text_delta', contentIndex: 0, delta: text }),
  think: delta => update({ type: 'thinking_delta', contentIndex: 0, delta }),
  unasked(text) {
    say({ type: 'agent_start' })
    voice.delta(text)
    end({ content: [{ type: 'text', text }], stopReason: 'stop' })
  },
  tool: phase =>
    say({
      type: `tool_execution_${phase === 'started' ? 'start' : 'end'}`,
      toolCallId: 'c1',
      toolName: 'read',
      // Like the real one: the target of a tool is only in its start event.
      ...(phase === 'started' ? { args: { path: 'memory.md' } } : { result: {} }),
      isError: false,
    }),
  permits: tool => ((value('--tools') ?? '').split(',').includes(tool.toLowerCase()) ? 'asked' : 'refused'),
  async ask({ id, tool, command }, signal) {
    const input = (title, placeholder) => {
      const request = crypto.randomUUID()
      say({ type: 'extension_ui_request', id: request, method: 'input', title, placeholder })
      return questions.wait(request, signal, () => undefined).then(said => said ?? undefined)
    }
    const event = { toolCallId: id, toolName: tool.toLowerCase(), input: { command } }
    for (const handler of handlers) {
      const stopped = await handler(event, { ui: { input }, signal, mode: rpc ? 'rpc' : 'json' })
      if (stopped?.block) return { allow: false, message: stopped.reason }
    }
    return { allow: true }
  },
  used({ id, tool, command }, phase, result) {
    const toolName = tool.toLowerCase()
    if (phase === 'started') return say({ type: 'tool_execution_start', toolCallId: id, toolName, args: { command } })
    const text = `${result.output || '(no output)'}${result.exit ? `\n\nCommand exited with code ${result.exit}` : ''}`
    const isError = phase === 'failed'
    say({
      type: 'tool_execution_end',
      toolCallId: id,
      toolName,
      result: { content: [{ type: 'text', text }] },
      isError,
    })
  },
  heard: words => say({ type: 'message_end', message: { role: 'user', content: [{ type: 'text', text: words }] } }),
  closed: questions.close,
  hearsAll: true,
  answer: (text, used) =>
    end({
      content: [{ type: 'text', text }],
      stopReason: 'stop',
      usage: { input: used, output: 7, cost: { total: 0.01 } },
    }),
  error: (status, text) => end({ content: [], stopReason: 'error', errorMessage: status ? `${status} ${text}` : text }),
  // The real one always exits with 0.
  exitOnError: 0,
}

if (args.includes('--list-models'))
  console.log(
    'provider  model     context  max-out\nx         m-large   128K     16.4K\nx         m-small   128K     16.4K',
  )
else if (!rpc) await perform(voice)
else {
  prepare(voice)
  const fail = text => {
    process.stderr.write(`${text}\n`)
    process.exit(1)
  }
  const session = openSession(voice.resume, voice.chosen, fail, voice.lost)
  const heard = line => {
    if (line.type === 'get_state') answer('get_state', { data: { sessionId: session.id, isStreaming: false } })
    if (line.type === 'abort') return 'interrupt'
    if (line.type === 'extension_ui_response') questions.answer(line.id, line.value ?? null)
    if (line.type === 'clear_queue') answer('clear_queue', { data: { steering: [], followUp: [] } })
    if (line.type === 'steer') {
      answer('steer', { id: line.id })
      return line.message
    }
    if (line.type !== 'prompt') return null
    queued.push(line.id)
    return line.message
  }
  await converse(voice, session, heard, () => {
    end({ content: [{ type: 'text', text: 'half' }], stopReason: 'aborted', errorMessage: 'Request was aborted' })
    answer('abort')
  })
}
