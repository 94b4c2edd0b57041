#!/usr/bin/env node
// Replays the output of a real CLI: the recording named by REPLAY_FILE, with the same exit. REPLAY_TROUBLE, separated by
// commas, adds problems: die (before any output), garbage (around every line), huge (an endless line), grandchild (leaves one behind in
// its own process group), deaf (ignores SIGTERM and keeps running).
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [head, ...lines] = readFileSync(process.env.REPLAY_FILE, 'utf8').trimEnd().split('\n')
const run = JSON.parse(head)
const trouble = (process.env.REPLAY_TROUBLE ?? '').split(',')
const garbage = '\x00\ufffd not json\n{"half": \n[1,2]\nnull\n"text"\n{}\n\n'
const write = (stream, text) => new Promise(resolve => stream.write(text, resolve))

process.stdout.on('error', () => {})
readFileSync(0)
if (trouble.includes('die')) process.exit(3)
if (trouble.includes('deaf')) process.on('SIGTERM', () => {})
if (trouble.includes('grandchild')) spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref()
if (trouble.includes('huge')) for (let i = 0; i < 20; i++) await write(process.stdout, 'x'.repeat(1 << 20))

if (trouble.includes('garbage')) await write(process.stdout, garbage)
for (const line of lines) await write(process.stdout, trouble.includes('garbage') ? `${line}\n${garbage}` : `${line}\n`)
await write(process.stderr, run.stderr)

if (trouble.includes('deaf')) await new Promise(resolve => setTimeout(resolve, 600_000))
if (run.signal) process.kill(process.pid, run.signal)
process.exit(run.code ?? 1)
