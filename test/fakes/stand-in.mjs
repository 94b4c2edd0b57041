// The common part of the fake agent CLIs: sessions on disk, and actions that the prompt requests in [[double brackets]]. Each CLI adds its
// voice: its arguments and its output format. Each run writes a line to the journal when it starts and ends.
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { basename, join } from 'node:path'

const args = process.argv.slice(2)
const home = join(process.env.HOME, '.claude-stand-in')
const journal = entry =>
  appendFileSync(join(home, 'journal.jsonl'), `${JSON.stringify({ ...entry, pid: process.pid, at: Date.now() })}\n`)
const fail = text => {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}

/** Ends early when the turn is interrupted. */
const sleep = (ms, signal) =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => resolve(clearTimeout(timer)))
  })

/** The argument after a flag. */
export const value = flag => (args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined)
export const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
export { args }

/**
 * One process, one turn.
 * @param {{ version: string, resume?: string, chosen?: string, systemFile?: string, lost(id: string): string,
 *   begin(session: string, prompt: string): void, delta(text: string): void, tool(phase: 'started' | 'ended'): void,
 *   open?(): void, part(text: string, used: { input: number, output: number }): void,
 *   think?(thought: string): void, unasked?(text: string): void,
 *   answer(text: string, used: number): void, error(status: number, text: string): void, exitOnError: number }} voice
 */
export async function perform(voice) {
  prepare(voice)
  const session = openSession(voice.resume, voice.chosen, text => fail(text), voice.lost)
  const ok = await takeTurn(voice, session, readFileSync(0, 'utf8'))
  if (!ok) process.exit(voice.exitOnError)
}

/** What all modes have in common. */
export function prepare(voice) {
  if (args.includes('--version')) {
    console.log(voice.version)
    process.exit(0)
  }
  mkdirSync(home, { recursive: true })
  // Keeps working when nobody reads its output any more, like an agent in the middle of a tool.
  process.stdout.on('error', () => {})
}

/** Calls `refuse` with the reason if there is no such session, or if it exists already. */
export function openSession(resume, chosen, refuse, lost) {
  const id = resume ?? chosen ?? crypto.randomUUID()
  const known = existsSync(join(home, `${id}.json`))
  if (resume && !known) return refuse(lost(resume))
  if (!resume && known) return refuse(`Session ID ${id} is already in use.`)
  return { id, resumed: resume !== undefined }
}

/** One turn of a session; false: it ended with an error. When `signal` aborts, it stops without further output. */
export async function takeTurn(voice, { id: session, resumed }, given, signal) {
  // The time line and the marks around text from outside differ in each turn, so they are separated from the prompt.
  const [, now = null, rest] = /^(?:(\[Gateway: it is [^\]\n]*\])\n\n)?([\s\S]*)$/.exec(given)
  const prompt = rest.replaceAll(/^(-----[0-9a-f]{20})\n([\s\S]*?)\n\1$/gm, '$2')
  const file = join(home, `${session}.json`)
  const told = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const system = voice.systemFile ? readFileSync(voice.systemFile, 'utf8') : (voice.system ?? '')
  const mcpConfig = voice.mcpFile ? readFileSync(voice.mcpFile, 'utf8') : (voice.mcpConfig ?? '')
  // If the prompt says to answer the message above, it obeys that message.
  const isAbove = one => /^(?:\[Gateway: before the .*\n+)*\[Gateway: your turn on the last message above/.test(one)
  const meantWords = (isAbove(prompt) && told.findLast(one => !isAbove(one))) || prompt
  const env = Object.keys(process.env)
  journal({ what: 'begin', session, resumed, now, given, prompt, about: meantWords, args, env, system, mcpConfig })

  // [[only:claude]]: the other CLIs ignore all brackets.
  const only = /\[\[only:([a-z]+)\]\]/.exec(meantWords)?.[1]
  const meant = only === undefined || basename(process.argv[1]).startsWith(only)
  const asks = name => meant && new RegExp(`\\[\\[${name}(?::([^\\]]*))?\\]\\]`).exec(meantWords)
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
  // Forked twice, in its own session: it has neither our parent nor our process group.
  if (asks('daemon')) spawnSync('sh', ['-c', "setsid sh -c 'sleep 600 >/dev/null 2>&1 &' >/dev/null 2>&1"])
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
  if (owing.delete(session)) voice.unasked?.('late words that nobody asked for')
  // From here on the session has the message, like the real CLIs.
  if (!voice.forgetsFailures) writeFileSync(file, JSON.stringify([...told, prompt]))
  voice.begin(session, prompt)
  // Writes endlessly and ignores its input, each time as if it were another session.
  if (asks('flood'))
    for (;;) {
      for (let i = 0; i < 200; i++) {
        voice.begin(crypto.randomUUID(), prompt)
        voice.open?.()
        voice.delta('word ')
      }
      const gone = await new Promise(resolve => process.stdout.write('', resolve))
      // Nobody reads any more: it stays, without using the processor for nothing.
      if (gone) await sleep(600_000)
    }
  // Ignores interruptions like everything else.
  if (asks('deaf')) await sleep(600_000)
  if (asks('hang')) await sleep(600_000, signal)
  if (signal?.aborted) return true
  // [[busy:2]]: the service answers only the third time.
  if (asks('busy') && isBusy(meantWords, Number(asks('busy')[1]))) return refuse(529, 'API Error: 529 overloaded_error')
  // [[think:3000]]: for this many milliseconds. A CLI that does not report thinking at least keeps its connection to the model.
  const thinks = Number(asks('think')?.[1] ?? 0)
  if (thinks > 0) await connected(() => think(voice, thinks, signal))
  const status = asks('api')
  if (status) return refuse(Number(status[1]), `API Error: ${status[1]} stand-in error`)
  const limit = asks('limit')
  if (limit) return refuse(429, `Claude AI usage limit reached|${limit[1]}`)
  if (asks('login')) return refuse(0, 'Not logged in · Please run /login')
  if (asks('maxturns')) return voice.maxTurns()
  // [[between]]: text and a tool, twice, before the answer; [[between:hang]]: and then nothing more.
  const between = asks('between')
  for (const words of between ? ['Let me look.', 'One more thing.'] : []) {
    voice.open?.()
    for (const word of words.match(/\S+\s*/g)) voice.delta(word)
    voice.part(words, { input: 10, output: 2 })
    voice.tool('started')
    voice.tool('ended')
  }
  if (between?.[1] === 'hang') await sleep(600_000, signal)
  if (signal?.aborted) return true
  const tool = asks('tool')
  if (tool) {
    voice.tool('started')
    await sleep(Number(tool[1] ?? 0), signal)
    voice.tool('ended')
  }
  // [[listen:3000]]: works for so long, and hears words that are said meanwhile.
  const listen = asks('listen')
  const heard = listen ? await hear(voice, Number(listen[1]), signal) : []
  const results = meant ? await useTools(voice, meantWords, signal) : []
  if (signal?.aborted) return true
  // [[calls:…]]: calls the gateway's tools, as `callsOf` of the harness writes it. $SELF in an argument is this whole bracket.
  const calls = asks('calls')
  if (calls) await callTools(calls, mcpConfig, answered => journal({ what: 'called', ...answered }))
  // [[write:FILE|text]] and [[append:FILE|text]], in its working folder.
  for (const [how, put] of [
    ['write', writeFileSync],
    ['append', appendFileSync],
  ]) {
    const [name, ...text] = asks(how)?.[1]?.split('|') ?? []
    if (name) put(name, `${text.join('|')}\n`)
  }
  // [[run:FILE]]: a program, in its working folder.
  const program = asks('run')
  if (program) spawnSync(process.execPath, [program[1]], { stdio: 'ignore' })
  if (asks('dieafter')) process.exit(4)
  // Some never answer before they have read everything.
  if (voice.hearsAll) heard.push(...(await hear(voice, 0, signal)))
  if (voice.forgetsFailures) writeFileSync(file, JSON.stringify([...told, prompt]))
  const last = meantWords.slice(meantWords.lastIndexOf('\n') + 1)
  const answer = asks('long')
    ? 'word '.repeat(Number(asks('long')[1]))
    : (asks('say')?.[1] ?? [`turn ${told.length + 1}: ${last}`, ...results, ...heard].join(' | '))
  voice.open?.()
  for (const word of answer.match(/\S+\s*/g) ?? []) {
    if (signal?.aborted) return true
    voice.delta(word)
    if (step > 0) await sleep(step, signal)
  }
  journal({ what: 'end', session, last })
  voice.answer(answer, prompt.length)
  // [[unasked]]: a turn that nobody asked for, as when a background command ends: now, and again with the next message.
  if (asks('unasked')) {
    voice.unasked?.('words that nobody asked for')
    if (!voice.unaskedOnlyBetween) owing.add(session)
  }
  const linger = asks('linger')
  // Waits until a file of that name exists.
  while (linger && !existsSync(linger[1])) await sleep(20)
  return true
}

/**
 * [[ask:Bash:touch x]]: runs a command with a tool, if `voice.permits` it or `voice.ask` gets it allowed. [[askboth:touch x|touch y]]: two
 * at once. [[asksub:touch x]]: in a sub-agent. [[askgone:touch x]]: it soon no longer waits for the answer. [[askdie:touch x]]: it ends
 * while it asks. Returns what its tools told it.
 */
async function useTools(voice, words, signal) {
  const results = []
  for (const [, how, rest] of words.matchAll(/\[\[ask(both|sub|gone|die)?:(?:Bash:)?([^\]]+)\]\]/g)) {
    const commands = how === 'both' ? rest.split('|') : [rest]
    const used = await Promise.all(commands.map(command => useTool(voice, command, how ?? '', signal)))
    results.push(...used)
    if (signal?.aborted) return []
  }
  return results
}

let uses = 0
async function useTool(voice, command, how, signal) {
  const id = `use-${process.pid}-${++uses}`
  const call = { id, tool: 'Bash', command, sub: how === 'sub' }
  const permitted = voice.permits?.('Bash') ?? 'refused'
  if (permitted === 'refused') return 'there is no such tool'
  voice.used?.(call, 'started')
  const gone = new AbortController()
  const stop = signal ? AbortSignal.any([signal, gone.signal]) : gone.signal
  const asked = permitted === 'asked' ? voice.ask(call, stop) : { allow: true }
  if (how === 'die') setTimeout(() => process.exit(5), 150)
  if (how === 'gone') setTimeout(() => gone.abort(), 150)
  const { allow, message = 'nobody answered' } = (await asked) ?? { allow: false }
  if (!allow || stop.aborted) {
    voice.used?.(call, 'failed', { output: message, exit: null })
    // The next step takes its time.
    if (how === 'gone') await sleep(100, signal)
    return message
  }
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
  journal({ what: 'ran', command })
  voice.used?.(call, status === 0 ? 'ended' : 'failed', { output: stdout + stderr, exit: status })
  return `${stdout}${stderr}`.trim()
}

/** Answers that it waits for, by an id. Null: nobody will answer. */
export function openQuestions() {
  const open = new Map()
  return {
    wait: (id, signal, cancelled = () => {}) =>
      new Promise(resolve => {
        open.set(id, resolve)
        signal.addEventListener('abort', () => open.delete(id) && resolve(cancelled() ?? null), { once: true })
      }),
    /** False: nobody waits for it. */
    answer(id, verdict) {
      open.get(id)?.(verdict)
      return open.delete(id)
    },
    close() {
      for (const resolve of open.values()) resolve(null)
      open.clear()
    },
  }
}

/** Words that were said while a turn ran, for the next turn unless this one takes them. A voice may have its own. */
const mail = []

async function hear(voice, ms, signal) {
  const words = voice.mail ?? mail
  for (let left = ms; left > 0 && words.length === 0 && !signal?.aborted; left -= 20) await sleep(20, signal)
  return words.splice(0).map(words => {
    voice.heard?.(words)
    return `heard ${words}`
  })
}

/** Like an agent that does all that it is told. */
async function callTools([bracket, encoded], mcpConfig, answered) {
  const { AETHEEL_URL: url, AETHEEL_KEY: key } = JSON.parse(mcpConfig).mcpServers.aetheel.env
  for (const { tool, args, times = 1 } of JSON.parse(Buffer.from(encoded, 'base64url').toString())) {
    const body = JSON.stringify({ arguments: args }).replaceAll('$SELF', bracket)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    for (let n = 1; n <= times; n++) {
      const answer = await fetch(`${url}/api/tools/${tool}`, {
        method: 'POST',
        headers,
        body: body.replaceAll('$N', n),
      })
      answered({ tool, answer: await answer.text() })
    }
  }
}

/** Sessions with an unasked turn before the next one. */
export const owing = new Set()

async function think(voice, ms, signal) {
  for (let left = ms; left > 0 && !signal?.aborted; left -= 100) {
    voice.think?.('a secret thought')
    await sleep(100, signal)
  }
}

/** Keeps a connection open while it works. */
async function connected(work) {
  const server = createServer(socket => socket.on('error', () => {}))
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const socket = connect(server.address().port, '127.0.0.1')
  await work()
  socket.destroy()
  server.close()
}

/** Counts across all processes. */
function isBusy(words, times) {
  const file = join(home, `busy-${Buffer.from(words).toString('base64url').slice(0, 100)}`)
  const count = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  writeFileSync(file, String(count + 1))
  return count < times
}

/**
 * Reads turns from stdin until it ends, one per line. `heard` returns the prompt in a line, `interrupt`, or null for anything else;
 * `broken` reports that a turn was interrupted.
 */
export async function converse(voice, session, heard, broken) {
  let current = null
  let running = null
  const takeAll = async () => {
    while (mail.length > 0) {
      const turn = new AbortController()
      current = turn
      await takeTurn(voice, session, mail.shift(), turn.signal)
      current = null
      session.resumed = true
      if (turn.signal.aborted) broken()
    }
    running = null
  }
  for await (const line of linesOf(process.stdin)) {
    const said = heard(JSON.parse(line))
    if (said === 'interrupt') {
      // What it has not read yet is dropped, too.
      mail.length = 0
      current?.abort()
    } else if (said !== null) {
      mail.push(said)
      running ??= takeAll()
    }
  }
  voice.closed?.()
  await running
}

/** Splits on \n only, like the real CLIs: U+2028 is an ordinary character. */
async function* linesOf(stream) {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    yield* lines.filter(Boolean)
  }
}
