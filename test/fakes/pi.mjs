#!/usr/bin/env node
// A fake pi: `pi -p --mode json` and `pi --mode rpc`.
import { args, converse, openSession, perform, prepare, say, value } from './stand-in.mjs'

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
    if (line.type !== 'prompt') return null
    queued.push(line.id)
    return line.message
  }
  await converse(voice, session, heard, () => {
    end({ content: [{ type: 'text', text: 'half' }], stopReason: 'aborted', errorMessage: 'Request was aborted' })
    answer('abort')
  })
}
