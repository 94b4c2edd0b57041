#!/usr/bin/env node
// A fake claude: `claude -p --output-format stream-json`, and the way the Agent SDK starts it (`--flag=value`, `initialize`).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { args, converse, openQuestions, openSession, perform, prepare, say, value } from './stand-in.mjs'

const model = 'claude-stand-in'
const flag = name => value(name) ?? args.find(one => one.startsWith(`${name}=`))?.slice(name.length + 1)

/** All values of a flag that may be repeated. */
const every = name =>
  args.flatMap((one, i) =>
    one === name ? args[i + 1].split(',') : one.startsWith(`${name}=`) ? one.slice(name.length + 1).split(',') : [],
  )
const questions = openQuestions()
const asks = flag('--permission-prompt-tool') === 'stdio'
const bypasses = args.includes('--dangerously-skip-permissions') || flag('--permission-mode') === 'bypassPermissions'

let base = {}
let messages = 0
const said = (text, message = { model }) =>
  say({ type: 'assistant', message: { ...message, content: [{ type: 'text', text }] }, ...base })
/** The ids of messages that it has not started yet, and of the one it answers. */
const queued = []
let own
const about = () => (own === undefined ? {} : { user_message_uuid: own, user_message_uuids: [own] })
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
    ...about(),
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
  begin(session, prompt) {
    base = { session_id: session, parent_tool_use_id: null }
    own = queued.shift()
    say({ type: 'system', subtype: 'init', tools: [], model, ...about(), ...base })
    if (own && args.includes('--replay-user-messages'))
      say({ type: 'user', uuid: own, isReplay: true, message: { role: 'user', content: prompt }, ...base })
  },
  think: thinking =>
    say({
      type: 'stream_event',
      event: { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking } },
      ...base,
    }),
  unasked(text) {
    own = undefined
    say({ type: 'system', subtype: 'init', tools: [], model, ...base })
    voice.delta(text)
    say({ type: 'assistant', message: { model, content: [{ type: 'text', text }] }, ...base })
    result({ result: text, origin: { kind: 'task-notification' } })
  },
  open: () =>
    say({
      type: 'stream_event',
      event: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...base,
    }),
  // Each block of a message comes as its own line, with the message's id and usage; the real counts come after it.
  part(text, { input, output }) {
    const message = { id: `msg-${++messages}`, model, usage: { input_tokens: input, output_tokens: 1 } }
    said(text, message)
    const usage = { input_tokens: input, output_tokens: output }
    say({
      type: 'stream_event',
      event: { type: 'message_delta', delta: {}, usage },
      api_message_id: message.id,
      ...base,
    })
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
  permits(tool) {
    if (!every('--tools').includes(tool)) return 'refused'
    const settings = flag('--settings') ?? '{}'
    const ask = JSON.parse(settings.startsWith('{') ? settings : readFileSync(settings, 'utf8')).permissions?.ask ?? []
    if (asks && ask.includes(tool)) return 'asked'
    return bypasses || every('--allowedTools').includes(tool) ? 'allowed' : asks ? 'asked' : 'refused'
  },
  ask({ id, tool, command, sub }, signal) {
    const request_id = `asks-${id}`
    const input = { command, description: 'does it' }
    const request = { subtype: 'can_use_tool', tool_name: tool, input, tool_use_id: id }
    say({ type: 'control_request', request_id, request: { ...request, ...(sub ? { agent_id: 'sub-1' } : {}) } })
    return questions.wait(request_id, signal, () => say({ type: 'control_cancel_request', request_id }) && null)
  },
  used({ id, tool, command, sub }, phase, result) {
    const from = { ...base, parent_tool_use_id: sub ? 'tool-of-sub' : null }
    const use = { type: 'tool_use', id, name: tool, input: { command, description: 'does it' } }
    if (phase === 'started') return say({ type: 'assistant', message: { model, content: [use] }, ...from })
    const failed = phase === 'failed'
    const { output, exit } = result
    const content = exit ? `Exit code ${exit}\n${output}` : output || '(Bash completed with no output)'
    say({
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: id, content, is_error: failed }] },
      ...(failed ? {} : { tool_use_result: { stdout: output, stderr: '' } }),
      ...from,
    })
  },
  // Taken into the running turn, like the real one does after a tool.
  heard: words =>
    say({ type: 'user', uuid: queued.shift(), isReplay: true, message: { role: 'user', content: words }, ...base }),
  closed: questions.close,
  answer(text, used) {
    said(text)
    result({ result: text, usage: { input_tokens: used, output_tokens: 7 } })
  },
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
  const heard = ({ type, uuid, request_id, request, response, message }) => {
    if (type === 'control_response') {
      const { behavior, message: why } = response.response
      questions.answer(response.request_id, { allow: behavior === 'allow', message: why })
      return null
    }
    if (type !== 'control_request') {
      queued.push(uuid)
      return message.content
    }
    if (request.subtype === 'initialize') voice.system = request.appendSystemPrompt ?? ''
    if (request.subtype === 'interrupt' && request.cancel_queued) queued.length = 0
    say({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
    return request.subtype === 'interrupt' ? 'interrupt' : null
  }
  await converse(voice, openSession(voice.resume, voice.chosen, fail, voice.lost), heard, () =>
    result({ is_error: true, subtype: 'error_during_execution', terminal_reason: 'aborted_streaming', result: '' }),
  )
}
