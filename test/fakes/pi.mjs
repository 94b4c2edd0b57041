#!/usr/bin/env node
// The stand-in for pi: `pi -p --mode json`.
import { perform, say, value } from './stand-in.mjs'

const update = event => say({ type: 'message_update', assistantMessageEvent: event })
const end = message => {
  say({ type: 'message_end', message: { role: 'assistant', ...message } })
  say({ type: 'agent_end', messages: [] })
  say({ type: 'agent_settled' })
}

await perform({
  version: '9.9.9',
  resume: value('--session'),
  chosen: value('--session-id'),
  systemFile: value('--append-system-prompt'),
  lost: id => `No session found matching '${id}'`,
  begin(session) {
    say({ type: 'session', version: 3, id: session })
    say({ type: 'agent_start' })
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
})
