#!/usr/bin/env node
// An agent that asks for a command with each message, in the protocol of claude. The command says when it asked; the answer says when it
// had been allowed. Both in milliseconds since the epoch.
import { createInterface } from 'node:readline'

const now = () => performance.timeOrigin + performance.now()
const args = process.argv.slice(2)
if (args.includes('--version')) {
  console.log('1.0.0 (asker of the benchmarks)')
  process.exit(0)
}
const session_id = ['--resume', '--session-id'].flatMap(flag =>
  args.includes(flag) ? [args[args.indexOf(flag) + 1]] : [],
)[0]
const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
let asks = 0
let about = {}

for await (const line of createInterface({ input: process.stdin })) {
  const { type, uuid, request_id, response } = JSON.parse(line)
  if (type === 'control_response') {
    const result = response.response.behavior === 'allow' ? String(now()) : 'denied'
    say({ type: 'result', subtype: 'success', is_error: false, session_id, result, ...about })
  } else if (type === 'control_request') {
    say({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
  } else {
    about = { user_message_uuid: uuid, user_message_uuids: [uuid] }
    say({ type: 'system', subtype: 'init', session_id, ...about })
    const id = `ask-${++asks}`
    const request = { subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: id }
    say({ type: 'control_request', request_id: id, request: { ...request, input: { command: `echo ${now()}` } } })
  }
}
