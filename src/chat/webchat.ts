// WebChat: the chat of the browser page, the terminal and other programs, over WebSocket or HTTP.
import { aborted } from '../base/aborted.ts'
import type { ChatAdapter, Delivery, Outgoing, Posted } from '../base/chat.ts'
import type { Stretch } from '../base/conversations.ts'
import {
  type Accepted,
  type Attachment,
  type Changed,
  type Duplicate,
  type EventSink,
  eventOfDelivery,
  type Message,
  type NewEvent,
  type Place,
  type Refused,
} from '../base/event.ts'
import type { Request } from '../base/requests.ts'
import type { Connected, MessageReply, NewMessage, Socket } from '../base/socket.ts'
import { type Client, createClient } from './client.ts'
import { createOrder } from './frame-order.ts'
import { type ClientFrame, parseFrame, type ServerFrame } from './frames.ts'
import { createPositions } from './queue-positions.ts'

export interface WebchatParts {
  /** The files that a message brings, by their ids. Null: some do not exist. */
  attach(conversation: string, ids: readonly string[], eventKey: string): Promise<readonly Attachment[] | null>
  /** Refuses a message whose files are incomplete, unless it was accepted before. */
  refuse(message: NewEvent, why: 'not-attached' | 'not-stored'): Promise<Duplicate | Refused>
  /** Edits (null: cancels) a waiting message. */
  change(key: string, message: NewEvent | null): Promise<Changed>
  stop(lane: string): boolean
  /** Hands a waiting message to the running turn. Resolves with why that is not possible; null: it is done. */
  steer(lane: string, key: string): Promise<string | null>
  /** Sends everything that waits for this conversation; resolves when that is done. */
  deliverWaiting(lane: string): Promise<void>
  /** The delivery with this key has left: it would arrive even if this process were killed now. */
  sent(deliveryKey: string): void
  waiting(lane: string): Promise<readonly { readonly event: NewEvent; readonly position: number }[]>
  /** The keys of the waiting events, the next one first. Cheap. */
  positions(lane: string): readonly { readonly key: string; readonly position: number }[]
  /** The latest messages. */
  history(conversation: string): Pick<Stretch, 'messages' | 'older' | 'requests' | 'work'>
  /** Reports an error that nobody is waiting for. */
  broke(error: unknown): void
  /** The stored final of an event, if there is one. */
  final(eventKey: string): Delivery | null
  /** Called with the key of each event whose final has just been stored. */
  onFinal(listener: (eventKey: string) => void): void
  /** The final was fetched without the outbox, so the outbox need not send it. */
  fetched(eventKey: string): Promise<unknown>
  wasCancelled(eventKey: string): boolean
}

export interface Webchat extends ChatAdapter {
  connect(socket: Socket, conversation: string, how: Connected): void
  /** Somebody is asked something, or it was answered: shown in the conversation of the turn, and where people are asked. */
  request(request: Request): void
  /** The same over HTTP: one message, and with `wait` its final. */
  message(message: NewMessage, wait: boolean, signal: AbortSignal): Promise<MessageReply>
}

const brokenReason = 'Something went wrong here; the owner can find details in the log. Please try again later.'

interface Offered {
  readonly event: NewEvent
  readonly answer: Accepted | Duplicate | Refused
}

export const webchatName = 'webchat'

export function createWebchat(parts: WebchatParts): Webchat {
  const name = webchatName
  const rooms = new Map<string, Set<Client>>()
  const waiters = new Map<string, Set<() => void>>()
  let sink: EventSink | null = null

  /** Makes the requests that wait for this event check again. */
  const notifyWaiters = (eventKey: string) => {
    for (const look of waiters.get(eventKey) ?? []) look()
  }
  parts.onFinal(notifyWaiters)

  const laneOf = (conversation: string) => `${name}:${conversation}`
  const keyOf = (conversation: string, id: string) => `${name}:${conversation}:${id}`
  const eventOf = (conversation: string, id: string, text: string, attachments: readonly Attachment[]): NewEvent => ({
    key: keyOf(conversation, id),
    lane: laneOf(conversation),
    what: {
      ...{ kind: 'message', id, text },
      // Only the owner of this gateway has the token.
      author: { id: 'owner', name: 'owner', owner: true },
      ...(attachments.length === 0 ? {} : { attachments }),
    } satisfies Message,
    replyTo: { chat: name, conversation },
    source: name,
  })

  const enter = (conversation: string, client: Client): (() => void) => {
    const room = rooms.get(conversation) ?? new Set()
    rooms.set(conversation, room.add(client))
    return () => {
      room.delete(client)
      if (room.size === 0) rooms.delete(conversation)
    }
  }
  const everyone = (conversation: string): readonly Client[] => [...(rooms.get(conversation) ?? [])]
  const sendAll = (conversation: string, frame: ServerFrame) => {
    for (const client of everyone(conversation)) client.send(frame)
  }

  /** Other clients in the same conversation see the questions too, not only the answers. */
  const echoToOthers = (conversation: string, but: Client | null, { what }: NewEvent) => {
    if (what.kind !== 'message') return
    const { id, text, attachments = [] } = what
    const files = attachments.map(({ path: _, missing: __, ...file }) => file)
    const frame: ServerFrame = { type: 'said', id, text, ...(files.length === 0 ? {} : { attachments: files }) }
    for (const client of everyone(conversation)) if (client !== but) client.send(frame)
  }

  /** With all its files, or not at all. A repeated message is a duplicate even if the agent has removed its files since. */
  async function offer({ conversation, id, text, attachments = [] }: NewMessage): Promise<Offered> {
    const plain = eventOf(conversation, id, text, [])
    if (attachments.length === 0) return { event: plain, answer: await accept(plain) }
    const files = await parts.attach(conversation, attachments, plain.key).catch((error: unknown) => {
      parts.broke(error)
      return 'not-stored' as const
    })
    if (files === null || files === 'not-stored')
      return { event: plain, answer: await parts.refuse(plain, files ?? 'not-attached') }
    const event = eventOf(conversation, id, text, files)
    return { event, answer: await accept(event) }
  }

  /** An edit changes the text; the files stay. */
  async function editedEvent(conversation: string, id: string, text: string): Promise<NewEvent> {
    const waiting = await parts.waiting(laneOf(conversation))
    const what = waiting.find(({ event }) => event.key === keyOf(conversation, id))?.event.what
    return eventOf(conversation, id, text, (what?.kind === 'message' && what.attachments) || [])
  }

  const accept = async (event: NewEvent): Promise<Offered['answer']> =>
    sink
      ? sink(event)
      : {
          type: 'refused',
          why: 'stopping',
          reason: 'Stopping: I accept no messages right now. Please try again in a moment.',
        }

  const positions = createPositions({
    positions(conversation) {
      // Skip events that are not messages of a client.
      const prefix = keyOf(conversation, '')
      const ours = parts.positions(laneOf(conversation)).filter(({ key }) => key.startsWith(prefix))
      return new Map(ours.map(({ key, position }) => [key.slice(prefix.length), position]))
    },
    listeners: everyone,
  })

  async function receive(conversation: string, client: Client, frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case 'message': {
        const { event, answer } = await offer({ conversation, ...frame })
        if (answer.type === 'refused') return void client.send({ type: 'refused', id: frame.id, reason: answer.reason })
        client.send({ type: 'accepted', id: frame.id })
        if (answer.type === 'accepted') echoToOthers(conversation, client, event)
        if (answer.type === 'accepted' && answer.position > 0)
          sendAll(conversation, { type: 'waiting', id: frame.id, position: answer.position })
        return
      }
      case 'edit':
      case 'cancel': {
        const edited = frame.type === 'edit' ? await editedEvent(conversation, frame.id, frame.text) : null
        const answer = await parts.change(keyOf(conversation, frame.id), edited)
        if (!answer.changed) client.send({ type: 'action', id: frame.id, label: answer.reason, phase: 'failed' })
        else if (edited) {
          client.send({ type: 'accepted', id: frame.id })
          echoToOthers(conversation, client, edited)
        } else {
          sendAll(conversation, { type: 'refused', id: frame.id, reason: 'cancelled' })
          notifyWaiters(keyOf(conversation, frame.id))
        }
        return positions.moved(conversation)
      }
      case 'steer': {
        const why = await parts.steer(laneOf(conversation), keyOf(conversation, frame.id))
        if (why !== null) client.send({ type: 'action', id: frame.id, label: why, phase: 'notice' })
        return positions.moved(conversation)
      }
      case 'stop':
        parts.stop(laneOf(conversation))
        return
      default:
        frame satisfies never
    }
  }

  /** Resolves with true once one client has it; with false if none got it. */
  async function deliver(conversation: string, key: string, frame: ServerFrame): Promise<boolean> {
    const clients = everyone(conversation)
    const left = clients.map(client => client.send(frame)).includes(true)
    const arrivals = clients.map(async client => {
      if (!(await client.reached())) throw new Error('onAbort')
    })
    if (left) parts.sent(key)
    return Promise.any(arrivals).then(
      () => true,
      () => false,
    )
  }

  async function post(place: Place, message: Outgoing): Promise<Posted> {
    const id = message.about ?? eventOfDelivery(message.key)
    const { conversation } = place
    const posted = { type: 'posted', ref: { place, id } } as const
    if (message.kind === 'draft') {
      if (message.action) sendAll(conversation, { type: 'action', id, ...message.action })
      else for (const client of everyone(conversation)) client.draft(id, message.text)
      // A message whose answer starts has left the queue.
      positions.moved(conversation)
      return posted
    }
    const frame: ServerFrame =
      message.kind === 'notice'
        ? { type: 'action', id, label: message.text, phase: 'notice' }
        : { type: 'final', id, text: message.text, ok: message.ok, ...(message.files && { files: message.files }) }
    if (!(await deliver(conversation, message.key, frame))) return { type: 'absent' }
    if (message.kind === 'final') positions.moved(conversation)
    return posted
  }

  return {
    name,
    limits: { length: Number.POSITIVE_INFINITY, measure: text => text.length, editEveryMs: 60, namesFiles: true },
    post,
    edit: async (ref, message) => void (await post(ref.place, message)),
    typing: async () => undefined /* drafts start immediately, so there is no gap to fill */,

    async run(given, signal) {
      sink = given
      await aborted(signal)
      sink = null
    },

    connect(socket, conversation, how) {
      const client = createClient(socket, how)
      /** The connection stays open: a client that reconnects would run into the same error in an endless loop. */
      const broke = (error: unknown, frame: ClientFrame | null) => {
        parts.broke(error)
        if (frame === null) client.send({ type: 'final', id: 'trouble', text: brokenReason, ok: false })
        else if (frame.type === 'message') client.send({ type: 'refused', id: frame.id, reason: brokenReason })
        else if ('id' in frame) client.send({ type: 'action', id: frame.id, label: brokenReason, phase: 'failed' })
      }
      client.send({ type: 'hello', conversation })
      socket.onClose(enter(conversation, client))
      const inOrder = createOrder()
      socket.onText(text => {
        const parsed = parseFrame(text)
        if (!parsed.ok) return void client.send({ type: 'refused', id: parsed.id, reason: parsed.reason })
        const { frame } = parsed
        inOrder(frame, () => receive(conversation, client, frame).catch(error => broke(error, frame)))
      })
      catchUp(conversation, client).catch(error => broke(error, null))
    },

    request(request) {
      const { lane, place } = request
      const asked = place?.chat === name ? [place.conversation] : []
      const own = lane.startsWith(laneOf('')) ? [lane.slice(laneOf('').length)] : []
      for (const conversation of new Set([...own, ...asked])) sendAll(conversation, { type: 'request', request })
    },

    async message(message, wait, signal) {
      const { conversation, id } = message
      const waiter = wait ? waitFor(keyOf(conversation, id), id, signal) : null
      try {
        const { event, answer } = await offer(message)
        if (answer.type === 'refused') return { type: 'refused', id, why: answer.why, reason: answer.reason }
        if (answer.type === 'accepted') echoToOthers(conversation, null, event)
        if (!waiter)
          return { type: 'accepted', id, conversation, position: answer.type === 'accepted' ? answer.position : 0 }
        if (answer.type === 'duplicate') waiter.look()
        return await waiter.reply
      } finally {
        waiter?.leave()
      }
    },
  }

  /** Reads the store and not the outbox, where the final may be queued behind deliveries that nobody has fetched. */
  function waitFor(eventKey: string, id: string, signal: AbortSignal) {
    const { promise: reply, resolve, reject } = Promise.withResolvers<MessageReply>()
    const look = () => {
      const found = resultOf(eventKey, id)
      if (found) resolve(found)
    }
    const onAbort = () => reject(signal.reason)
    const lookers = waiters.get(eventKey) ?? new Set()
    waiters.set(eventKey, lookers.add(look))
    signal.addEventListener('abort', onAbort, { once: true })
    // Nobody awaits the reply if the message is refused.
    reply.catch(() => undefined)
    return {
      reply,
      look,
      leave() {
        signal.removeEventListener('abort', onAbort)
        lookers.delete(look)
        if (lookers.size === 0) waiters.delete(eventKey)
      },
    }
  }

  function resultOf(eventKey: string, id: string): MessageReply | null {
    if (parts.wasCancelled(eventKey)) return { type: 'refused', id, why: 'cancelled', reason: 'cancelled' }
    const delivery = parts.final(eventKey)
    if (!delivery) return null
    const delivered = (sent: boolean) => {
      if (sent) parts.fetched(eventKey).catch(parts.broke)
    }
    const { text, ok, files } = delivery
    return { type: 'final', id, text, ok, ...(files && { files }), delivered }
  }

  /** Undelivered messages come first, then the history, then the waiting messages. */
  async function catchUp(conversation: string, client: Client): Promise<void> {
    await parts.deliverWaiting(laneOf(conversation))
    const { messages, older, requests = [], work = {} } = parts.history(conversation)
    client.send({ type: 'history', messages, older, requests, work })
    positions.greet(conversation, client)
  }
}
