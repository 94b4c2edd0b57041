// Messages the gateway has not accepted yet: sent as soon as there is a connection, stored across reloads until then.
import { saveUnsent, unsentMessages } from './storage.js'

const longestFrame = 1_000_000 // the gateway closes the connection at 1 MiB
const timeoutMs = 10_000 // without "accepted", the connection counts as dead

export const fits = frame => new TextEncoder().encode(JSON.stringify(frame)).length <= longestFrame
export const tooLong = 'Too long: this message is larger than 1 MB. Please shorten it or send it in parts.'

/**
 * @param {{
 *   transcript: ReturnType<import('./transcript.js').createTranscript>,
 *   connection: { send: (frame: object) => boolean, isOpen: () => boolean, reconnect: () => void },
 *   conversation: () => string | null,
 *   isAway: () => boolean,
 * }} parts
 * @param {AbortSignal} signal
 */
export const createUnsent = ({ transcript, connection, conversation, isAway }, signal) => {
  const unaccepted = () => transcript.turns().filter(turn => turn.state === 'sending')

  /** A connection can be dead without a close event: reconnects, and the message is sent again under its id. */
  const expectAccepted = id => {
    setTimeout(() => {
      const turn = signal.aborted ? undefined : transcript.find(id)
      if (turn?.state === 'sending' && !turn.deferred && connection.isOpen()) connection.reconnect()
    }, timeoutMs)
  }

  const send = ({ id, text, attachments }) => {
    const ids = attachments.flatMap(file => file.id ?? [])
    const sent = connection.send({ type: 'message', id, text, ...(ids.length === 0 ? {} : { attachments: ids }) })
    if (sent) expectAccepted(id)
    transcript.setDeferred(id, !sent && isAway())
  }

  return {
    send: id => send(transcript.find(id)),
    /** The connection has changed; `code` is why it was closed. */
    onConnection(isOpen, code) {
      for (const turn of unaccepted()) {
        if (isOpen) send(turn)
        else if (code === 1009) transcript.take({ type: 'refused', id: turn.id, reason: tooLong })
        else if (isAway()) transcript.setDeferred(turn.id, true)
      }
    },
    save() {
      if (conversation() === null) return
      const messages = unaccepted().map(({ id, text, attachments, at }) => ({ id, text, attachments, at }))
      saveUnsent(conversation(), messages, id => transcript.find(id) !== undefined)
    },
    restore() {
      if (conversation() === null) return
      for (const { id, text, attachments, at } of unsentMessages(conversation()))
        transcript.add(id, text, attachments, at)
    },
  }
}
