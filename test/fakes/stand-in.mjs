// A stand-in for an agent CLI: sessions on disk, and whatever the prompt asks for in [[double brackets]]. Each CLI adds its voice:
// how it is called and how it says things. Each run leaves a line in the journal when it begins and ends.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const args = process.argv.slice(2)
const home = join(process.env.HOME, '.claude-stand-in')
const journal = entry =>
  appendFileSync(join(home, 'journal.jsonl'), `${JSON.stringify({ ...entry, pid: process.pid, at: Date.now() })}\n`)
const fail = text => {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

/** Ends early when the turn is broken off. */
const sleep = (ms, signal) =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => resolve(clearTimeout(timer)))
  })

/** What follows a flag. */
export const value = flag => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined)
export const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
export { args }

/**
 * One process, one turn.
 * @param {{ version: string, resume?: string, chosen?: string, systemFile?: string, lost(id: string): string,
 *   begin(session: string, prompt: string): void, delta(text: string): void, tool(phase: 'started' | 'ended'): void,
 *   answer(text: string, used: number): void, error(status: number, text: string): void, exitOnError: number }} voice
 */
export async function perform(voice) {
  prepare(voice)
  const session = openSession(voice.resume, voice.chosen, text => fail(text), voice.lost)
  const ok = await takeTurn(voice, session, readFileSync(0, 'utf8'))
  if (!ok) process.exit(voice.exitOnError)
}

/** What every way of being called has in common. */
export function prepare(voice) {
  if (args.includes('--version')) {
    console.log(voice.version)
    process.exit(0)
  }
  mkdirSync(home, { recursive: true })
  // Goes on working when nobody listens any more, as an agent in the middle of a tool would.
  process.stdout.on('error', () => {})
}

/** `refuse` is called with the reason where there is no such session, or already one. */
export function openSession(resume, chosen, refuse, lost) {
  const id = resume ?? chosen ?? crypto.randomUUID()
  const known = existsSync(join(home, `${id}.json`))
  if (resume && !known) return refuse(lost(resume))
  if (!resume && known) return refuse(`Session ID ${id} is already in use.`)
  return { id, resumed: resume !== undefined }
}

/** One turn of a session; false: it ended with an error. Told so by `signal`, it breaks off and says nothing more. */
export async function takeTurn(voice, { id: session, resumed }, given, signal) {
  // The line with the time is another one in each turn: it is kept apart.
  const [, now = null, prompt] = /^(?:(\[Gateway: it is [^\]\n]*\])\n\n)?([\s\S]*)$/.exec(given)
  const file = join(home, `${session}.json`)
  const told = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const system = voice.systemFile ? readFileSync(voice.systemFile, 'utf8') : (voice.system ?? '')
  const mcpConfig = voice.mcpFile ? readFileSync(voice.mcpFile, 'utf8') : ''
  journal({ what: 'begin', session, resumed, now, prompt, args, env: Object.keys(process.env), system, mcpConfig })
  writeFileSync(file, JSON.stringify([...told, prompt]))

  // [[only:claude]]: the others pay no attention to what stands in brackets.
  const only = /\[\[only:([a-z]+)\]\]/.exec(prompt)?.[1]
  const meant = only === undefined || basename(process.argv[1]).startsWith(only)
  const asks = name => meant && new RegExp(`\\[\\[${name}(?::([^\\]]*))?\\]\\]`).exec(prompt)
  const step = Number(process.env.STAND_IN_STEP_MS ?? process.env.CLAUDE_STAND_IN_STEP_MS ?? 0)
  const refuse = (status, text) => {
    voice.error(status, text)
    return false
  }

  if (asks('die')) process.exit(3)
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
  voice.begin(session, prompt)
  // As deaf to an interruption as to everything else.
  if (asks('deaf')) await sleep(600_000)
  if (asks('hang')) await sleep(600_000, signal)
  if (signal?.aborted) return true
  const status = asks('api')
  if (status) return refuse(Number(status[1]), `API Error: ${status[1]} stand-in error`)
  const limit = asks('limit')
  if (limit) return refuse(429, `Claude AI usage limit reached|${limit[1]}`)
  if (asks('login')) return refuse(0, 'Not logged in · Please run /login')
  if (asks('maxturns')) return voice.maxTurns()
  const tool = asks('tool')
  if (tool) {
    voice.tool('started')
    await sleep(Number(tool[1] ?? 0), signal)
    voice.tool('ended')
  }
  // [[write:FILE|text]] and [[append:FILE|text]], in its working folder.
  for (const [how, put] of [
    ['write', writeFileSync],
    ['append', appendFileSync],
  ]) {
    const [name, ...text] = asks(how)?.[1]?.split('|') ?? []
    if (name) put(name, `${text.join('|')}\n`)
  }
  if (asks('dieafter')) process.exit(4)
  const last = prompt.slice(prompt.lastIndexOf('\n') + 1)
  const answer = asks('long') ? 'word '.repeat(Number(asks('long')[1])) : `turn ${told.length + 1}: ${last}`
  for (const word of answer.match(/\S+\s*/g) ?? []) {
    if (signal?.aborted) return true
    voice.delta(word)
    if (step > 0) await sleep(step, signal)
  }
  journal({ what: 'end', session, last })
  voice.answer(answer, prompt.length)
  const linger = asks('linger')
  if (linger) await sleep(Number(linger[1] ?? 1000))
  return true
}

/**
 * Takes turns on stdin until it ends, a line each. `heard` makes of a line the prompt of a turn, null for anything else, or
 * `interrupt`; `broken` says that a turn was broken off.
 */
export async function converse(voice, session, heard, broken) {
  let current = null
  let queue = Promise.resolve()
  for await (const line of linesOf(process.stdin)) {
    const said = heard(JSON.parse(line))
    if (said === 'interrupt') current?.abort()
    else if (said !== null)
      queue = queue.then(async () => {
        const turn = new AbortController()
        current = turn
        await takeTurn(voice, session, said, turn.signal)
        current = null
        session.resumed = true
        if (turn.signal.aborted) broken()
      })
  }
  await queue
}

/** Splits on \n only, as the real ones do: U+2028 is a character like any other. */
async function* linesOf(stream) {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    yield* lines.filter(Boolean)
  }
}
