// What was said here and the gateway has not accepted yet: sent as soon as there is a line, kept over a reload until then.
import { keepUnsent, unsentMessages } from './kept.js'

const longestFrame = 1_000_000 // the gateway closes the line at 1 MiB
const patienceMs = 10_000 // for "accepted", before the line counts as dead

export const fits = frame => new TextEncoder().encode(JSON.stringify(frame)).length <= longestFrame
export const tooLong = 'Too long: this message is larger than 1 MB. Please shorten it or send it in parts.'

/**
 * @param {{
 *   talk: ReturnType<import('./talk.js').openTalk>,
 *   wire: { send: (frame: object) => boolean, isOpen: () => boolean, reconnect: () => void },
 *   conversation: () => string | null,
 *   isAway: () => boolean,
 * }} parts
 * @param {AbortSignal} signal
 */
export const openUnsent = ({ talk, wire, conversation, isAway }, signal) => {
  const unaccepted = () => talk.turns().filter(turn => turn.state === 'sending')

  /** A line can be dead without anyone being told: then a new one is taken, and the message sent again under its id. */
  const expectAccepted = id => {
    setTimeout(() => {
      const turn = signal.aborted ? undefined : talk.find(id)
      if (turn?.state === 'sending' && !turn.kept && wire.isOpen()) wire.reconnect()
    }, patienceMs)
  }

  const send = ({ id, text, attachments }) => {
    const ids = attachments.flatMap(file => file.id ?? [])
    const sent = wire.send({ type: 'message', id, text, ...(ids.length === 0 ? {} : { attachments: ids }) })
    if (sent) expectAccepted(id)
    talk.keep(id, !sent && isAway())
  }

  return {
    send: id => send(talk.find(id)),
    /** The line has become another; `code` is why it was closed. */
    onLine(isOpen, code) {
      for (const turn of unaccepted()) {
        if (isOpen) send(turn)
        else if (code === 1009) talk.take({ type: 'refused', id: turn.id, reason: tooLong })
        else if (isAway()) talk.keep(turn.id, true)
      }
    },
    keep() {
      if (conversation() === null) return
      const messages = unaccepted().map(({ id, text, attachments, at }) => ({ id, text, attachments, at }))
      keepUnsent(conversation(), messages, id => talk.find(id) !== undefined)
    },
    restore() {
      if (conversation() === null) return
      for (const { id, text, attachments, at } of unsentMessages(conversation())) talk.say(id, text, attachments, at)
    },
  }
}
