#!/usr/bin/env node
// The stand-in for claude: `claude -p --output-format stream-json`.
import { args, converse, openSession, perform, prepare, say, value } from './stand-in.mjs'

let base = {}
const result = extra =>
  say({ is_error: false, subtype: 'success', num_turns: 1, total_cost_usd: 0.01, ...base, ...extra, type: 'result' })

const voice = {
  version: '9.9.9 (Claude Code stand-in)',
  resume: value('--resume'),
  chosen: value('--session-id'),
  systemFile: value('--append-system-prompt-file'),
  lost: id => `No conversation found with session ID: ${id}`,
  begin(session) {
    base = { session_id: session, parent_tool_use_id: null }
    say({ type: 'system', subtype: 'init', tools: [], ...base })
  },
  delta: text =>
    say({
      type: 'stream_event',
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      ...base,
    }),
  tool(phase) {
    const use = { type: 'tool_use', id: 'tool-1', name: 'Read', input: { file_path: 'memory.md' } }
    if (phase === 'started') say({ type: 'assistant', message: { content: [use] }, ...base })
    else
      say({
        type: 'user',
        message: { content: [{ type: 'tool_result', tool_use_id: 'tool-1', content: 'ok' }] },
        ...base,
      })
  },
  answer: (text, used) => result({ result: text, usage: { input_tokens: used, output_tokens: 7 } }),
  error(status, text) {
    say({ type: 'assistant', message: { model: '<synthetic>', content: [{ type: 'text', text }] }, ...base })
    result({ is_error: true, result: text, ...(status ? { api_error_status: status } : {}) })
  },
  exitOnError: 1,
  maxTurns() {
    result({ is_error: true, subtype: 'error_max_turns', result: '' })
    return false
  },
}

if (!args.includes('--input-format')) await perform(voice)
else {
  prepare(voice)
  const fail = text => {
    process.stderr.write(`${text}\n`)
    process.exit(1)
  }
  const heard = line => {
    if (line.type === 'control_request') return line.request.subtype === 'interrupt' ? 'interrupt' : null
    return line.message.content
  }
  await converse(voice, openSession(voice.resume, voice.chosen, fail, voice.lost), heard, () =>
    result({ is_error: true, subtype: 'error_during_execution', terminal_reason: 'aborted_streaming', result: '' }),
  )
}
