#!/usr/bin/env node
// The stand-in for opencode: `opencode run --format json`.
import { perform, say, value } from './stand-in.mjs'

const config = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT ?? '{}')
const prompt = config.agent?.[value('--agent')]?.prompt ?? ''
let sessionID = ''
const part = (type, more) =>
  say({ type: type.replace('-', '_'), timestamp: 1, sessionID, part: { type, sessionID, ...more } })

await perform({
  version: '9.9.9',
  resume: value('--session'),
  systemFile: /^\{file:(.*)\}$/.exec(prompt)?.[1],
  lost: () => 'Error: Session not found',
  begin(session) {
    sessionID = session
    part('step-start', {})
  },
  delta() {},
  tool(phase) {
    if (phase === 'ended')
      say({
        type: 'tool_use',
        sessionID,
        part: { type: 'tool', tool: 'read', callID: 'c1', state: { status: 'completed' } },
      })
  },
  answer(text, used) {
    part('text', { text })
    part('step-finish', { reason: 'stop', tokens: { input: used, output: 7 }, cost: 0.01 })
  },
  error: (status, text) =>
    say({
      type: 'error',
      sessionID,
      error: { name: 'APIError', data: { message: text, ...(status ? { statusCode: status } : {}) } },
    }),
  exitOnError: 1,
})
