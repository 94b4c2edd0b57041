#!/usr/bin/env node
// The stand-in for gemini: `gemini --output-format stream-json`.
import { perform, say, value } from './stand-in.mjs'

const stats = used => ({ total_tokens: used + 7, input_tokens: used, output_tokens: 7, tool_calls: 0 })

await perform({
  version: '9.9.9',
  resume: value('--resume'),
  chosen: value('--session-id'),
  systemFile: process.env.GEMINI_SYSTEM_MD,
  lost: id => `Error resuming session: Invalid session identifier "${id}".`,
  begin(session, prompt) {
    say({ type: 'init', session_id: session, model: 'stand-in' })
    say({ type: 'message', role: 'user', content: prompt })
  },
  delta: text => say({ type: 'message', role: 'assistant', content: text, delta: true }),
  tool: phase =>
    phase === 'started'
      ? say({ type: 'tool_use', tool_name: 'read_file', tool_id: 't1', parameters: {} })
      : say({ type: 'tool_result', tool_id: 't1', status: 'success', output: 'ok' }),
  answer: (_, used) => say({ type: 'result', status: 'success', stats: stats(used) }),
  error: (status, text) =>
    say({
      type: 'result',
      status: 'error',
      error: { type: 'Error', message: status ? `got status: ${status}. ${text}` : text },
      stats: stats(0),
    }),
  // The real one ends with the HTTP status modulo 256.
  exitOnError: 145,
})
