#!/usr/bin/env node
// The stand-in for codex: `codex exec --json`.
import { args, perform, say, value } from './stand-in.mjs'

const command = { id: 'item_1', type: 'command_execution', command: "bash -lc 'ls'", aggregated_output: '' }

await perform({
  version: 'codex-cli 9.9.9',
  resume: args.includes('resume') ? value('resume') : undefined,
  systemFile:
    JSON.parse(args.find(arg => arg.startsWith('model_instructions_file='))?.split('=')[1] ?? 'null') ?? undefined,
  lost: id => `Error: thread/resume failed: no rollout found for thread id ${id} (code -32600)`,
  begin(session) {
    say({ type: 'thread.started', thread_id: session })
    say({ type: 'turn.started' })
  },
  delta() {},
  tool: phase =>
    say({
      type: `item.${phase === 'started' ? 'started' : 'completed'}`,
      item: { ...command, status: phase === 'started' ? 'in_progress' : 'completed' },
    }),
  answer(text, used) {
    say({ type: 'item.completed', item: { id: 'item_2', type: 'agent_message', text } })
    say({ type: 'turn.completed', usage: { input_tokens: used, output_tokens: 7 } })
  },
  error(status, text) {
    say({ type: 'error', message: 'Reconnecting... 1/5' })
    say({ type: 'turn.failed', error: { message: status ? `unexpected status ${status}: ${text}` : text } })
  },
  exitOnError: 1,
})
