// A session at the terminal: `aetheel chat` without a text. One may go on typing while an answer runs.
import { randomUUID } from 'node:crypto'
import { createInterface, type Interface } from 'node:readline/promises'
import { cutTo, type Paint, paintFor, type Terminal, withoutControls } from '../terminal.ts'
import { type Conversation, type ConversationOptions, type Heard, openConversation } from './conversation.ts'
import { type GrowingText, growingText } from './growing.ts'
import { progressRow } from './progress.ts'
import { openScreen, type Screen } from './screen.ts'

const prompt = '› '

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
  const view = openView(screen, paint, terminal)
  const conversation = openConversation(options, what =>
    what.type === 'lost' ? lost(`lost: ${what.reason}`) : view.heard(what),
  )
  const say = (text: string): void => {
    const id = randomUUID()
    view.asked(id, text)
    conversation.say(id, text)
  }
  const interrupt = onCtrlC(reader, screen, view, conversation, () => leave(0))
  // Ahead of the reader: Enter ends the prompt's row, so nothing of ours may stand around it then.
  stdin.prependListener('keypress', (_text: unknown, key: { readonly name?: string } | undefined) => {
    if (key?.name === 'return' || key?.name === 'enter') screen.lift()
  })
  reader.on('line', line => {
    interrupt.forgive()
    const text = line.trim()
    if (text === '/quit' || text === '/exit') return leave(0)
    if (text === '/stop') conversation.stop()
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
  screen.print(paint('dim', `Conversation ${options.name}. Ctrl-C stops an answer, /quit or Ctrl-D leaves.`))
  try {
    return await ended
  } finally {
    clearInterval(ticking)
    deaf()
    screen.close()
    reader.close()
    if (view.open() > 0)
      stdout.write(paint('dim', 'Not everything is answered yet: the answer comes with the next visit.\n'))
    await conversation.close()
  }
}

/** Ctrl-C empties the line, stops what runs, and, pressed again on an empty prompt, leaves. */
function onCtrlC(reader: Interface, screen: Screen, view: View, conversation: Conversation, leave: () => void) {
  let before = false
  return {
    pressed() {
      const typed = reader.line !== ''
      if (before && !typed) return leave()
      if (typed) reader.write(null, { ctrl: true, name: 'e' })
      if (typed) reader.write(null, { ctrl: true, name: 'u' })
      before = true
      if (view.open() > 0) {
        conversation.stop()
        view.stopping()
      } else if (!typed) screen.print('Ctrl-C again, /quit or Ctrl-D leaves.')
    },
    forgive() {
      before = false
    },
  }
}

interface View {
  heard(what: Exclude<Heard, { type: 'lost' }>): void
  asked(id: string, text: string): void
  stopping(): void
  tick(): void
  /** How many messages have no answer yet. */
  open(): number
}

interface OpenMessage {
  readonly text: string
  state: 'sending' | 'waiting' | 'running'
  what: string
  since: number
}

/** What the person sees of the conversation. */
function openView(screen: Screen, paint: Paint, terminal: Terminal): View {
  const open = new Map<string, OpenMessage>()
  let away = true
  let ticks = 0
  let lastAsked: string | null = null
  let growing: { readonly id: string; readonly text: GrowingText } | null = null
  let recalled = false
  const columns = (): number => terminal.stdout.columns ?? 80

  const begun = (message: OpenMessage, what: string): void => {
    if (message.state !== 'running') message.since = terminal.now()
    message.state = 'running'
    message.what = what
  }
  const answerOf = (id: string): GrowingText => {
    if (growing?.id === id) return growing.text
    const question = open.get(id)?.text
    // Other words stand between the question and its answer: say which one it was.
    if (id !== lastAsked) screen.print(paint('dim', `↳ ${cutTo(question ?? 'an earlier message', columns() - 3)}`))
    growing = { id, text: growingText() }
    return growing.text
  }
  const ended = (id: string): void => {
    open.delete(id)
    growing = null
    lastAsked = null
    // A conversation is answered in order: the next of ours is on.
    const next = open.values().next().value
    if (next?.state === 'waiting') begun(next, 'thinking')
    screen.print('')
  }
  const recall = (messages: Extract<Heard, { type: 'history' }>['messages']): void => {
    if (recalled) return
    recalled = true
    for (const { role, text } of messages.slice(-2)) {
      screen.print(paint('dim', cutTo(role === 'user' ? prompt + text : text, columns() - 1)))
    }
  }

  const heardMine = (what: Extract<Heard, { id: string }>, message: OpenMessage) => {
    switch (what.type) {
      case 'accepted':
        return message.state === 'sending' ? begun(message, 'thinking') : undefined
      case 'waiting':
        if (what.position === 0) return begun(message, 'thinking')
        if (message.state !== 'waiting') screen.print(paint('dim', `waiting, position ${what.position}`))
        message.state = 'waiting'
        message.what = `waiting, position ${what.position}`
        return
      case 'draft':
        begun(message, 'writing')
        return screen.flow(answerOf(what.id).grow(withoutControls(what.text)))
      case 'action':
        begun(message, what.phase === 'failed' ? `${what.label} (failed)` : what.label)
        if (what.phase === 'notice') screen.print(paint('dim', cutTo(what.label, columns() - 1)))
        return
      case 'refused':
        if (lastAsked !== what.id) answerOf(what.id)
        screen.print(paint('yellow', `refused: ${withoutControls(what.reason)}`))
        return ended(what.id)
      case 'final':
        if (what.ok) screen.flow(answerOf(what.id).finish(withoutControls(what.text)))
        else screen.print(paint('red', withoutControls(what.text)))
        return ended(what.id)
      default:
        what satisfies never
    }
  }

  return {
    heard(what) {
      away = what.type === 'disconnected'
      if (what.type === 'history') recall(what.messages)
      if ('id' in what) {
        const mine = open.get(what.id)
        if (mine) heardMine(what, mine)
        else if (what.type === 'final') {
          screen.flow(answerOf(what.id).finish(withoutControls(what.text)))
          ended(what.id)
        }
      }
      this.tick()
    },
    asked(id, text) {
      open.set(id, { text, state: 'sending', what: 'sending', since: terminal.now() })
      lastAsked = id
    },
    stopping() {
      for (const message of open.values()) if (message.state !== 'waiting') message.what = 'stopping'
    },
    tick() {
      const all = [...open.values()]
      const current = all.find(message => message.state === 'running') ?? all[0]
      const waiting = all.filter(message => message.state === 'waiting' && message !== current).length
      const what = away ? 'the gateway is away, trying to reach it' : current?.what
      if (what === undefined) return screen.status('')
      const since = current?.since ?? terminal.now()
      const words = waiting > 0 ? `${what} · ${waiting} waiting` : what
      screen.status(paint('dim', progressRow(ticks++, terminal.now() - since, words, columns())))
    },
    open: () => open.size,
  }
}
