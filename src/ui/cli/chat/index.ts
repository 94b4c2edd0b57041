// `aetheel chat`: connects to the running gateway, or starts one inside this process.
import type { CliPorts, Flags } from '../ports.ts'
import type { Terminal } from '../terminal.ts'
import { ask } from './ask.ts'
import type { ConversationOptions } from './conversation.ts'

export interface ChatOptions {
  /** Empty: read from stdin, or start a session. */
  readonly text: string
  readonly conversation: string
  readonly json: boolean
  readonly flags: Flags
}

/** Resolves with the exit code. */
export async function chat(ports: CliPorts, terminal: Terminal, options: ChatOptions): Promise<number> {
  const { stdin, stdout, stderr } = terminal
  const piped = stdin.isTTY === true ? '' : await readPiped(terminal, options.text !== '')
  const text = [options.text, piped.trimEnd()].filter(part => part.trim() !== '').join('\n\n')
  const session = text === '' && stdin.isTTY === true && stdout.isTTY === true && !options.json
  if (text === '' && !session) {
    stderr.write('aetheel: there is no text to send: give one (npx aetheel chat "…") or pipe it in\n')
    return 2
  }
  return withGateway(ports, terminal, options.flags, async (where, gone) => {
    const conversation: ConversationOptions = { name: options.conversation, where }
    if (!session) return ask({ text, json: options.json, gone }, conversation, terminal)
    const { talk } = await import('./session.ts')
    return talk(conversation, terminal, gone)
  })
}

type Speak = (where: ConversationOptions['where'], gone: Promise<void> | null) => Promise<number>

async function withGateway(ports: CliPorts, terminal: Terminal, flags: Flags, speak: Speak): Promise<number> {
  if ((await ports.find(flags)) !== null) return speak(() => ports.find(flags), null)
  if (terminal.stderr.isTTY === true) terminal.stderr.write('No gateway is running; using one inside this process.\n')
  const ending = new AbortController()
  const inside = await ports.embed(flags, ending.signal)
  try {
    return await speak(async () => inside, inside.closed)
  } finally {
    ending.abort()
    await inside.closed
  }
}

/**
 * Reads all of stdin. If a text was given, stdin is optional, and a program that started us may have left its stdin open
 * forever: then three seconds without input mean that there is none.
 */
export async function readPiped(terminal: Terminal, optional: boolean, silenceMs = 3_000): Promise<string> {
  const { stdin, stderr } = terminal
  const chunks: Buffer[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const silence = setTimeout(() => {
    stderr.write(`aetheel: nothing came on stdin for ${silenceMs / 1_000} s, continuing without it\n`)
    resolve()
  }, silenceMs)
  if (!optional) clearTimeout(silence)
  const take = (chunk: Buffer | string): void => {
    clearTimeout(silence)
    chunks.push(Buffer.from(chunk))
  }
  stdin.on('data', take).once('end', resolve).once('error', reject)
  try {
    await promise
  } finally {
    clearTimeout(silence)
    stdin.off('data', take).off('end', resolve).off('error', reject)
    stdin.pause()
  }
  return Buffer.concat(chunks).toString('utf8')
}
