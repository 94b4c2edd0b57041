#!/usr/bin/env node
// A stand-in for the claude CLI: same flags, same stream-json output, sessions on disk. What the prompt asks for in
// [[double brackets]] it does; everything else it answers. Each run leaves a line in its journal when it begins and ends.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const args = process.argv.slice(2)
if (args.includes('--version')) {
  console.log('9.9.9 (Claude Code stand-in)')
  process.exit(0)
}

const value = flag => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined)
const home = join(process.env.HOME, '.claude-stand-in')
mkdirSync(home, { recursive: true })
const journal = entry =>
  appendFileSync(join(home, 'journal.jsonl'), `${JSON.stringify({ ...entry, pid: process.pid, at: Date.now() })}\n`)
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
const fail = text => {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

// Goes on working when nobody listens any more, as an agent in the middle of a tool would.
process.stdout.on('error', () => {})

const resume = value('--resume')
const session = resume ?? value('--session-id') ?? crypto.randomUUID()
const file = join(home, `${session}.json`)
if (resume && !existsSync(file)) fail(`No conversation found with session ID: ${resume}`)
if (!resume && existsSync(file)) fail(`Session ID ${session} is already in use.`)

const prompt = readFileSync(0, 'utf8')
const told = resume ? JSON.parse(readFileSync(file, 'utf8')) : []
const systemPrompt = value('--append-system-prompt-file')
journal({
  what: 'begin',
  session,
  resumed: resume !== undefined,
  prompt,
  args,
  env: Object.keys(process.env),
  system: systemPrompt ? readFileSync(systemPrompt, 'utf8') : '',
})
writeFileSync(file, JSON.stringify([...told, prompt]))

const asks = name => new RegExp(`\\[\\[${name}(?::([^\\]]*))?\\]\\]`).exec(prompt)
const step = Number(process.env.CLAUDE_STAND_IN_STEP_MS ?? 0)
const base = { session_id: session, parent_tool_use_id: null }
const delta = text =>
  say({
    type: 'stream_event',
    event: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    ...base,
  })
const result = extra =>
  say({
    is_error: false,
    subtype: 'success',
    num_turns: 1,
    usage: { input_tokens: prompt.length, output_tokens: 7 },
    total_cost_usd: 0.01,
    ...base,
    ...extra,
    type: 'result',
  })

if (asks('die')) process.exit(3)
if (asks('dieonce') && !resume) process.exit(3)
if (asks('ignoreterm')) process.on('SIGTERM', () => {})
if (asks('grandchild')) {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
  child.unref()
  journal({ what: 'grandchild', child: child.pid })
}
if (asks('garbage')) process.stdout.write('\x00\xff not json\n{"half": \n[1,2]\nnull\n"text"\n')
if (asks('onlygarbage')) {
  process.stdout.write('this is not what you were waiting for\n')
  process.exit(0)
}
if (asks('huge')) {
  const piece = 'x'.repeat(1 << 20)
  for (let i = 0; i < 50; i++)
    if (!process.stdout.write(piece)) await new Promise(resolve => process.stdout.once('drain', resolve))
  process.exit(0)
}
say({ type: 'system', subtype: 'init', tools: [], ...base })
if (asks('hang')) await sleep(600_000)
const status = asks('api')
if (status) {
  const text = `API Error: ${status[1]} stand-in error`
  say({ type: 'assistant', message: { model: '<synthetic>', content: [{ type: 'text', text }] }, ...base })
  result({ is_error: true, api_error_status: Number(status[1]), result: text })
  process.exit(1)
}
const limit = asks('limit')
if (limit) {
  result({ is_error: true, api_error_status: 429, result: `Claude AI usage limit reached|${limit[1]}` })
  process.exit(1)
}
if (asks('login')) {
  result({ is_error: true, result: 'Not logged in · Please run /login' })
  process.exit(1)
}
if (asks('maxturns')) {
  result({ is_error: true, subtype: 'error_max_turns', result: '' })
  process.exit(1)
}
if (asks('tool')) {
  say({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id: 'tool-1', name: 'Read', input: { file_path: 'memory.md' } }] },
    ...base,
  })
  await sleep(Number(asks('tool')[1] ?? 0))
  say({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'tool-1', content: 'ok' }] }, ...base })
}
if (asks('dieafter')) process.exit(4)
const last = prompt.slice(prompt.lastIndexOf('\n') + 1)
const answer = asks('long') ? 'word '.repeat(Number(asks('long')[1])) : `turn ${told.length + 1}: ${last}`
for (const word of answer.match(/\S+\s*/g) ?? []) {
  delta(word)
  if (step > 0) await sleep(step)
}
journal({ what: 'end', session, last })
result({ result: answer })
if (asks('linger')) await sleep(Number(asks('linger')[1] ?? 1000))
