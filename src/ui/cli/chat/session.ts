// A session at the terminal: `aetheel chat` without a text. You can type while an answer is running.
import { randomUUID } from 'node:crypto'
import { createInterface, type Interface } from 'node:readline/promises'
import type { Decision } from '../../../base/requests.ts'
import { errorText } from '../../../base/unknown.ts'
import { remoteApprovals } from '../approvals.ts'
import { paintFor, type Terminal } from '../terminal.ts'
import { openAsking } from './asking.ts'
import { type Conversation, type ConversationOptions, openConversation } from './conversation.ts'
import { openScreen, type Screen } from './screen.ts'
import { type Unanswered, unansweredMessages } from './unanswered.ts'
import { openView } from './view.ts'

const prompt = '› '

/** The commands that only the terminal knows; the gateway lists the rest. */
const localCommands = `/quit leaves (also /exit, Ctrl-D), Ctrl-C stops the running answer. Everything else is sent as a message.
Commands of the gateway:`

/** `gone` resolves when the gateway inside this process has ended (null if it is another process). Resolves with the exit code. */
export async function talk(
  options: ConversationOptions,
  terminal: Terminal,
  gone: Promise<void> | null,
): Promise<number> {
  const { stdin, stdout } = terminal
  const paint = paintFor(stdout)
  const reader = createInterface({ input: stdin, output: stdout, prompt, terminal: true, historySize: 500 })
  const screen = openScreen(reader, stdout)
  const { promise: ended, resolve: leave } = Promise.withResolvers<number>()
  const lost = (reason: string): void => {
    screen.print(paint('red', `aetheel: ${reason}`))
    leave(1)
  }
  const unanswered = unansweredMessages(terminal.now)
  const view = openView(screen, paint, terminal, unanswered)
  const asking = openAsking({
    ...{ paint, print: screen.print, isTyping: () => reader.line !== '', decide: decideAt(options) },
    prompt(words) {
      reader.setPrompt(words === null ? prompt : `${words} ${prompt}`)
      screen.lower()
    },
  })
  const conversation = openConversation(options, what => {
    if (what.type === 'lost') return lost(`lost: ${what.reason}`)
    view.received(what)
    for (const request of what.type === 'request' ? [what.request] : what.type === 'history' ? what.requests : [])
      asking.received(request)
  })
  const say = (text: string): void => {
    const id = randomUUID()
    unanswered.asked(id, text)
    view.asked(id)
    conversation.say(id, text)
  }
  const interrupt = onCtrlC(reader, screen, unanswered, conversation, () => leave(0))
  // Before the reader: Enter ends the prompt's row, so none of our rows may be around it then.
  const onKey = (_text: unknown, key: { readonly name?: string } | undefined): void => {
    if (key?.name === 'return' || key?.name === 'enter') screen.lift()
  }
  stdin.prependListener('keypress', onKey)
  reader.on('line', line => {
    interrupt.forgive()
    const text = line.trim()
    if (text === '/quit' || text === '/exit') return leave(0)
    if (asking.take(text)) return screen.lower()
    if (text === '/stop') conversation.stop()
    else if (text !== '') {
      if (text === '/help') screen.print(localCommands)
      say(text)
    }
    screen.lower()
  })
  reader.on('SIGINT', interrupt.pressed)
  reader.on('close', () => leave(0))
  const stopListening = terminal.onInterrupt(interrupt.pressed)
  const ticking = setInterval(view.tick, 150)
  gone?.then(
    () => lost('the gateway inside this process stopped'),
    () => lost('the gateway inside this process broke'),
  )
  screen.print(
    paint('dim', `Conversation ${options.name}. Ctrl-C stops an answer, /quit or Ctrl-D leaves, /help shows more.`),
  )
  try {
    return await ended
  } finally {
    clearInterval(ticking)
    stopListening()
    stdin.off('keypress', onKey)
    view.close()
    screen.close()
    reader.close()
    if (unanswered.count() > 0)
      stdout.write(paint('dim', 'Not everything is answered yet: you get the answer the next time you connect.\n'))
    await conversation.close()
  }
}

/** Says why it was not accepted. */
const decideAt =
  ({ where }: ConversationOptions) =>
  async (id: number, decision: Decision): Promise<string | null> => {
    try {
      const address = await where()
      if (!address) return 'The gateway is not running.'
      const result = await remoteApprovals(address).decide(id, decision)
      if (result.type === 'refused') return result.why
      return result.type === 'unknown' ? `There is no request ${id} any more.` : null
    } catch (error) {
      return errorText(error)
    }
  }

/** Ctrl-C clears the line and stops what is running; pressed again on an empty prompt, it leaves. */
function onCtrlC(
  reader: Interface,
  screen: Screen,
  unanswered: Unanswered,
  conversation: Conversation,
  leave: () => void,
) {
  let before = false
  return {
    pressed() {
      const typed = reader.line !== ''
      if (before && !typed) return leave()
      if (typed) {
        reader.write(null, { ctrl: true, name: 'e' })
        reader.write(null, { ctrl: true, name: 'u' })
      }
      before = true
      if (unanswered.count() > 0) {
        conversation.stop()
        unanswered.stopping()
      } else if (!typed) screen.print('Ctrl-C again, /quit or Ctrl-D leaves.')
    },
    forgive() {
      before = false
    },
  }
}
