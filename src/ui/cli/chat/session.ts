// A session at the terminal: `aetheel chat` without a text. One may go on typing while an answer runs.
import { randomUUID } from 'node:crypto'
import { createInterface, type Interface } from 'node:readline/promises'
import { paintFor, type Terminal } from '../terminal.ts'
import { type Conversation, type ConversationOptions, openConversation } from './conversation.ts'
import { openScreen, type Screen } from './screen.ts'
import { type Unanswered, unansweredMessages } from './unanswered.ts'
import { openView } from './view.ts'

const prompt = '› '

const localCommands = `/stop  ends the running answer (also Ctrl-C)
/quit  leaves (also /exit, Ctrl-D)
/help  this list
The gateway also knows /new, /queue, /model, /backend, /status and /usage.
Everything else is sent as a message.`

/** `gone` resolves when the gateway inside this process has ended (null: it is another process). The exit code. */
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
  const conversation = openConversation(options, what =>
    what.type === 'lost' ? lost(`lost: ${what.reason}`) : view.heard(what),
  )
  const say = (text: string): void => {
    const id = randomUUID()
    unanswered.asked(id, text)
    view.asked(id)
    conversation.say(id, text)
  }
  const interrupt = onCtrlC(reader, screen, unanswered, conversation, () => leave(0))
  // Ahead of the reader: Enter ends the prompt's row, so nothing of ours may stand around it then.
  const onKey = (_text: unknown, key: { readonly name?: string } | undefined): void => {
    if (key?.name === 'return' || key?.name === 'enter') screen.lift()
  }
  stdin.prependListener('keypress', onKey)
  reader.on('line', line => {
    interrupt.forgive()
    const text = line.trim()
    if (text === '/quit' || text === '/exit') return leave(0)
    if (text === '/stop') conversation.stop()
    else if (text === '/help') screen.print(localCommands)
    else if (text !== '') say(text)
    screen.lower()
  })
  reader.on('SIGINT', interrupt.pressed)
  reader.on('close', () => leave(0))
  const deaf = terminal.onInterrupt(interrupt.pressed)
  const ticking = setInterval(view.tick, 150)
  gone?.then(
    () => lost('the gateway inside this process stopped'),
    () => lost('the gateway inside this process broke'),
  )
  screen.print(
    paint('dim', `Conversation ${options.name}. Ctrl-C stops an answer, /quit or Ctrl-D leaves, /help tells more.`),
  )
  try {
    return await ended
  } finally {
    clearInterval(ticking)
    deaf()
    stdin.off('keypress', onKey)
    view.close()
    screen.close()
    reader.close()
    if (unanswered.count() > 0)
      stdout.write(paint('dim', 'Not everything is answered yet: the answer comes with the next visit.\n'))
    await conversation.close()
  }
}

/** Ctrl-C empties the line, stops what runs, and, pressed again on an empty prompt, leaves. */
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
