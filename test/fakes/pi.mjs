#!/usr/bin/env node
// The stand-in for pi: `pi -p --mode json` and `pi --mode rpc`.
import { converse, openSession, perform, prepare, say, value } from './stand-in.mjs'

const rpc = value('--mode') === 'rpc'
const answer = (command, more = {}) => say({ type: 'response', command, success: true, ...more })
const update = event => say({ type: 'message_update', assistantMessageEvent: event })
const end = message => {
  say({ type: 'message_end', message: { role: 'assistant', model: 'stand-in', ...message } })
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
    // Only json mode has a header; in rpc mode one has to ask.
    if (rpc) answer('prompt')
    else say({ type: 'session', version: 3, id: session })
    say({ type: 'agent_start' })
    say({ type: 'message_end', message: { role: 'user', content: [{ type: 'text', text: prompt }] } })
    update({ type: 'text_start', contentIndex: 0 })
  },
  delta: text => update({ type: 'text_delta', contentIndex: 0, delta: text }),
  tool: phase =>
    say({
      type: `tool_execution_${phase === 'started' ? 'start' : 'end'}`,
      toolCallId: 'c1',
      toolName: 'read',
      isError: false,
    }),
  answer: (text, used) =>
    end({
      content: [{ type: 'text', text }],
      stopReason: 'stop',
      usage: { input: used, output: 7, cost: { total: 0.01 } },
    }),
  error: (status, text) => end({ content: [], stopReason: 'error', errorMessage: status ? `${status} ${text}` : text }),
  // The real one leaves with 0 whatever happened.
  exitOnError: 0,
}

if (!rpc) await perform(voice)
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
    return line.type === 'prompt' ? line.message : null
  }
  await converse(voice, session, heard, () => {
    end({ content: [{ type: 'text', text: 'half' }], stopReason: 'aborted', errorMessage: 'Request was aborted' })
    answer('abort')
  })
}
