#!/usr/bin/env node
// The stand-in for claude: `claude -p --output-format stream-json`, and as the Agent SDK starts it (`--flag=value`, `initialize`).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { args, converse, openSession, perform, prepare, say, value } from './stand-in.mjs'

const model = 'claude-stand-in'
const flag = name => value(name) ?? args.find(one => one.startsWith(`${name}=`))?.slice(name.length + 1)

let base = {}
/** The cost and `modelUsage` are totals of the session, `usage` is the turn's. */
const result = extra => {
  const prompts = JSON.parse(
    readFileSync(join(process.env.HOME, '.claude-stand-in', `${base.session_id}.json`), 'utf8'),
  )
  const used = { inputTokens: prompts.join('').length, outputTokens: 7 * prompts.length }
  say({
    is_error: false,
    subtype: 'success',
    num_turns: 1,
    total_cost_usd: prompts.length / 100,
    modelUsage: { [model]: used },
    ...base,
    ...extra,
    type: 'result',
  })
}

const voice = {
  version: '9.9.9 (Claude Code stand-in)',
  resume: flag('--resume'),
  chosen: flag('--session-id'),
  mcpFile: flag('--mcp-config'),
  systemFile: flag('--append-system-prompt-file'),
  system: '',
  lost: id => `No conversation found with session ID: ${id}`,
  begin(session) {
    base = { session_id: session, parent_tool_use_id: null }
    say({ type: 'system', subtype: 'init', tools: [], model, ...base })
  },
  delta: text =>
    say({
      type: 'stream_event',
      event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      ...base,
    }),
  tool(phase) {
    const use = { type: 'tool_use', id: 'tool-1', name: 'Read', input: { file_path: 'memory.md' } }
    if (phase === 'started') say({ type: 'assistant', message: { model, content: [use] }, ...base })
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

if (flag('--input-format') === undefined) await perform(voice)
else {
  prepare(voice)
  const fail = text => {
    process.stderr.write(`${text}\n`)
    process.exit(1)
  }
  const heard = ({ type, request_id, request, message }) => {
    if (type !== 'control_request') return message.content
    if (request.subtype === 'initialize') voice.system = request.appendSystemPrompt ?? ''
    say({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
    return request.subtype === 'interrupt' ? 'interrupt' : null
  }
  await converse(voice, openSession(voice.resume, voice.chosen, fail, voice.lost), heard, () =>
    result({ is_error: true, subtype: 'error_during_execution', terminal_reason: 'aborted_streaming', result: '' }),
  )
}
