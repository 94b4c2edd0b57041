// A stand-in for an agent CLI: sessions on disk, and whatever the prompt asks for in [[double brackets]]. Each CLI adds its voice:
// how it is called and how it says things. Each run leaves a line in the journal when it begins and ends.
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const args = process.argv.slice(2)
const home = join(process.env.HOME, '.claude-stand-in')
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
const journal = entry =>
  appendFileSync(join(home, 'journal.jsonl'), `${JSON.stringify({ ...entry, pid: process.pid, at: Date.now() })}\n`)
const fail = text => {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

/** What follows a flag. */
export const value = flag => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined)
export const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
export { args }

/**
 * @param {{ version: string, resume?: string, chosen?: string, systemFile?: string, lost(id: string): string,
 *   begin(session: string, prompt: string): void, delta(text: string): void, tool(phase: 'started' | 'ended'): void,
 *   answer(text: string, used: number): void, error(status: number, text: string): void, exitOnError: number }} voice
 */
export async function perform(voice) {
  if (args.includes('--version')) {
    console.log(voice.version)
    process.exit(0)
  }
  mkdirSync(home, { recursive: true })
  // Goes on working when nobody listens any more, as an agent in the middle of a tool would.
  process.stdout.on('error', () => {})

  const { resume } = voice
  const session = resume ?? voice.chosen ?? crypto.randomUUID()
  const file = join(home, `${session}.json`)
  if (resume && !existsSync(file)) fail(voice.lost(resume))
  if (!resume && existsSync(file)) fail(`Session ID ${session} is already in use.`)

  const prompt = readFileSync(0, 'utf8')
  const told = resume ? JSON.parse(readFileSync(file, 'utf8')) : []
  const system = voice.systemFile ? readFileSync(voice.systemFile, 'utf8') : ''
  journal({
    what: 'begin',
    session,
    resumed: resume !== undefined,
    prompt,
    args,
    env: Object.keys(process.env),
    system,
  })
  writeFileSync(file, JSON.stringify([...told, prompt]))

  const asks = name => new RegExp(`\\[\\[${name}(?::([^\\]]*))?\\]\\]`).exec(prompt)
  const step = Number(process.env.STAND_IN_STEP_MS ?? process.env.CLAUDE_STAND_IN_STEP_MS ?? 0)
  const refuse = (status, text) => {
    voice.error(status, text)
    process.exit(voice.exitOnError)
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
  if (asks('hang')) await sleep(600_000)
  const status = asks('api')
  if (status) refuse(Number(status[1]), `API Error: ${status[1]} stand-in error`)
  const limit = asks('limit')
  if (limit) refuse(429, `Claude AI usage limit reached|${limit[1]}`)
  if (asks('login')) refuse(0, 'Not logged in · Please run /login')
  if (asks('maxturns')) voice.maxTurns()
  const tool = asks('tool')
  if (tool) {
    voice.tool('started')
    await sleep(Number(tool[1] ?? 0))
    voice.tool('ended')
  }
  if (asks('dieafter')) process.exit(4)
  const last = prompt.slice(prompt.lastIndexOf('\n') + 1)
  const answer = asks('long') ? 'word '.repeat(Number(asks('long')[1])) : `turn ${told.length + 1}: ${last}`
  for (const word of answer.match(/\S+\s*/g) ?? []) {
    voice.delta(word)
    if (step > 0) await sleep(step)
  }
  journal({ what: 'end', session, last })
  voice.answer(answer, prompt.length)
  const linger = asks('linger')
  if (linger) await sleep(Number(linger[1] ?? 1000))
}
