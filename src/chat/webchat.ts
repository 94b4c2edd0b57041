// WebChat: the chat of the browser page, the terminal and other programs, over WebSocket or HTTP.

import { type ChatAdapter, eventOfLetter, type Letter, type Outgoing, type Posted } from '../base/chat.ts'
import type {
  Accepted,
  Attachment,
  Changed,
  Duplicate,
  EventSink,
  Message,
  NewEvent,
  Place,
  Refused,
} from '../base/event.ts'
import type { MessageReply, NewMessage, Socket } from '../base/socket.ts'
import type { Stretch } from '../base/talks.ts'
import { type ClientFrame, parseFrame, type ServerFrame } from './frames.ts'
import { openOrder } from './order.ts'

export interface WebchatParts {
  /** The files that a message brings along, by their ids; null: some are not there (any more). */
  attach(conversation: string, ids: readonly string[], eventKey: string): Promise<readonly Attachment[] | null>
  /** Refuses what is not whole, unless it was taken before. */
  refuse(message: NewEvent, why: 'not-attached' | 'not-stored'): Promise<Duplicate | Refused>
  /** Edits (null: cancels) a waiting message. */
  change(key: string, message: NewEvent | null): Promise<Changed>
  stop(lane: string): boolean
  /** Sends what waits for this conversation; resolves when that is done. */
  deliverWaiting(lane: string): Promise<void>
  /** The letter with this key has left: were we killed now, it would still arrive. */
  sent(letterKey: string): void
  waiting(lane: string): Promise<readonly { readonly event: NewEvent; readonly position: number }[]>
  /** What was said last. */
  history(conversation: string): Pick<Stretch, 'messages' | 'older'>
  /** Something failed that nobody waits for. */
  broke(error: unknown): void
  /** The final that was stored for an event, if there is one. */
  final(eventKey: string): Letter | null
  /** Told with the key of each event whose final has just been stored. */
  onFinal(listener: (eventKey: string) => void): void
  /** Somebody got the final by another way than the outbox: it need not be sent any more. */
  fetched(eventKey: string): Promise<unknown>
  wasCancelled(eventKey: string): boolean
}

export interface Webchat extends ChatAdapter {
  connect(socket: Socket, conversation: string): void
  /** The same over HTTP: one message, and with `wait` its final. */
  message(message: NewMessage, wait: boolean, signal: AbortSignal): Promise<MessageReply>
}

/** Somebody who listens to a conversation. */
interface Client {
  /** True: it is on its way and arrives even if this process is killed now. */
  send(frame: ServerFrame): boolean
  /** Whether what was sent has arrived. */
  reached(): Promise<boolean>
}

interface Offered {
  readonly event: NewEvent
  readonly answer: Accepted | Duplicate | Refused
}

export function openWebchat(parts: WebchatParts): Webchat {
  const name = 'webchat'
  const rooms = new Map<string, Set<Client>>()
  const waiters = new Map<string, Set<() => void>>()
  let sink: EventSink | null = null

  /** Requests that wait for the end of an event are told to look. */
  const tellWaiters = (eventKey: string) => {
    for (const look of waiters.get(eventKey) ?? []) look()
  }
  parts.onFinal(tellWaiters)

  const laneOf = (conversation: string) => `${name}:${conversation}`
  const keyOf = (conversation: string, id: string) => `${name}:${conversation}:${id}`
  const eventOf = (conversation: string, id: string, text: string, attachments: readonly Attachment[]): NewEvent => ({
    key: keyOf(conversation, id),
    lane: laneOf(conversation),
    what: {
      ...{ kind: 'message', id, text },
      // Whoever holds the token is the owner of this gateway.
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
  const tellAll = (conversation: string, frame: ServerFrame) => {
    for (const client of everyone(conversation)) client.send(frame)
  }

  /** Who listens in the same conversation elsewhere sees what was asked, not only what is answered. */
  const tellOthers = (conversation: string, but: Client | null, { what }: NewEvent) => {
    if (what.kind !== 'message') return
    const { id, text, attachments = [] } = what
    const files = attachments.map(({ path: _, missing: __, ...file }) => file)
    const frame: ServerFrame = { type: 'said', id, text, ...(files.length === 0 ? {} : { attachments: files }) }
    for (const client of everyone(conversation)) if (client !== but) client.send(frame)
  }

  /** With its files, or not at all; one that has come before is known, whatever the agent has done with its files since. */
  async function offer({ conversation, id, text, attachments = [] }: NewMessage): Promise<Offered> {
    const plain = eventOf(conversation, id, text, [])
    if (attachments.length === 0) return { event: plain, answer: await handOn(plain) }
    const files = await parts.attach(conversation, attachments, plain.key).catch((error: unknown) => {
      parts.broke(error)
      return 'not-stored' as const
    })
    if (files === null || files === 'not-stored')
      return { event: plain, answer: await parts.refuse(plain, files ?? 'not-attached') }
    const event = eventOf(conversation, id, text, files)
    return { event, answer: await handOn(event) }
  }

  /** An edit changes the words; the files stay. */
  async function editedEvent(conversation: string, id: string, text: string): Promise<NewEvent> {
    const waiting = await parts.waiting(laneOf(conversation))
    const what = waiting.find(({ event }) => event.key === keyOf(conversation, id))?.event.what
    return eventOf(conversation, id, text, (what?.kind === 'message' && what.attachments) || [])
  }

  const handOn = async (event: NewEvent): Promise<Offered['answer']> =>
    sink
      ? sink(event)
      : {
          type: 'refused',
          why: 'stopping',
          reason: 'Stopping: I take no messages right now. Please try again in a moment.',
        }

  /** Positions move up when something before them ends or goes. */
  async function tellPositions(conversation: string): Promise<void> {
    if (!rooms.has(conversation)) return
    for (const { event, position } of await parts.waiting(laneOf(conversation)))
      if (event.what.kind === 'message') tellAll(conversation, { type: 'waiting', id: event.what.id, position })
  }

  async function heard(conversation: string, client: Client, frame: ClientFrame): Promise<void> {
    switch (frame.type) {
      case 'message': {
        const { event, answer } = await offer({ conversation, ...frame })
        if (answer.type === 'refused') return void client.send({ type: 'refused', id: frame.id, reason: answer.reason })
        client.send({ type: 'accepted', id: frame.id })
        if (answer.type === 'accepted') tellOthers(conversation, client, event)
        if (answer.type === 'accepted' && answer.position > 0)
          tellAll(conversation, { type: 'waiting', id: frame.id, position: answer.position })
        return
      }
      case 'edit':
      case 'cancel': {
        const edited = frame.type === 'edit' ? await editedEvent(conversation, frame.id, frame.text) : null
        const answer = await parts.change(keyOf(conversation, frame.id), edited)
        if (!answer.changed) client.send({ type: 'action', id: frame.id, label: answer.reason, phase: 'failed' })
        else if (edited) {
          client.send({ type: 'accepted', id: frame.id })
          tellOthers(conversation, client, edited)
        } else {
          tellAll(conversation, { type: 'refused', id: frame.id, reason: 'cancelled' })
          tellWaiters(keyOf(conversation, frame.id))
        }
        return tellPositions(conversation)
      }
      case 'stop':
        parts.stop(laneOf(conversation))
        return
      default:
        frame satisfies never
    }
  }

  /** Resolves once one of those who listen has it; false: nobody did. */
  async function deliver(conversation: string, key: string, frame: ServerFrame): Promise<boolean> {
    const clients = everyone(conversation)
    const left = clients.map(client => client.send(frame)).includes(true)
    const arrivals = clients.map(async client => {
      if (!(await client.reached())) throw new Error('gone')
    })
    if (left) parts.sent(key)
    return Promise.any(arrivals).then(
      () => true,
      () => false,
    )
  }

  async function post(place: Place, message: Outgoing): Promise<Posted> {
    const id = message.about ?? eventOfLetter(message.key)
    const { conversation } = place
    const posted = { type: 'posted', ref: { place, id } } as const
    if (message.kind === 'draft') {
      if (message.action) tellAll(conversation, { type: 'action', id, ...message.action })
      else tellAll(conversation, { type: 'draft', id, text: message.text })
      return posted
    }
    const frame: ServerFrame =
      message.kind === 'notice'
        ? { type: 'action', id, label: message.text, phase: 'notice' }
        : { type: 'final', id, text: message.text, ok: message.ok, ...(message.files && { files: message.files }) }
    if (!(await deliver(conversation, message.key, frame))) return { type: 'absent' }
    if (message.kind === 'final') await tellPositions(conversation)
    return posted
  }

  return {
    name,
    limits: { length: Number.POSITIVE_INFINITY, measure: text => text.length, editEveryMs: 60, namesFiles: true },
    post,
    edit: async (ref, message) => void (await post(ref.place, message)),
    typing: async () => undefined /* drafts begin at once, so there is nothing to fill */,

    async run(given, signal) {
      sink = given
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      sink = null
    },

    connect(socket, conversation) {
      const client: Client = { send: frame => socket.send(JSON.stringify(frame)), reached: () => socket.reached() }
      const broke = (error: unknown) => {
        parts.broke(error)
        // The other side connects again and then learns where things stand.
        socket.close(1011, 'internal error')
      }
      client.send({ type: 'hello', conversation })
      socket.onClose(enter(conversation, client))
      const inOrder = openOrder()
      socket.onText(text => {
        const parsed = parseFrame(text)
        if (!parsed.ok) return void client.send({ type: 'refused', id: parsed.id, reason: parsed.reason })
        const { frame } = parsed
        inOrder(frame, () => heard(conversation, client, frame).catch(broke))
      })
      catchUp(conversation, client).catch(broke)
    },

    async message(message, wait, signal) {
      const { conversation, id } = message
      const waiter = wait ? waitFor(keyOf(conversation, id), id, signal) : null
      try {
        const { event, answer } = await offer(message)
        if (answer.type === 'refused') return { type: 'refused', id, why: answer.why, reason: answer.reason }
        if (answer.type === 'accepted') tellOthers(conversation, null, event)
        if (!waiter)
          return { type: 'accepted', id, conversation, position: answer.type === 'accepted' ? answer.position : 0 }
        if (answer.type === 'duplicate') waiter.look()
        return await waiter.reply
      } finally {
        waiter?.leave()
      }
    },
  }

  /** By way of the store and not of the outbox, where the final may stand behind letters that nobody has fetched. */
  function waitFor(eventKey: string, id: string, signal: AbortSignal) {
    const { promise: reply, resolve, reject } = Promise.withResolvers<MessageReply>()
    const look = () => {
      const found = endOf(eventKey, id)
      if (found) resolve(found)
    }
    const gone = () => reject(signal.reason)
    const lookers = waiters.get(eventKey) ?? new Set()
    waiters.set(eventKey, lookers.add(look))
    signal.addEventListener('abort', gone, { once: true })
    // Whoever is refused at once never comes to ask for the reply.
    reply.catch(() => undefined)
    return {
      reply,
      look,
      leave() {
        signal.removeEventListener('abort', gone)
        lookers.delete(look)
        if (lookers.size === 0) waiters.delete(eventKey)
      },
    }
  }

  function endOf(eventKey: string, id: string): MessageReply | null {
    if (parts.wasCancelled(eventKey)) return { type: 'refused', id, why: 'cancelled', reason: 'cancelled' }
    const letter = parts.final(eventKey)
    if (!letter) return null
    const delivered = (sent: boolean) => {
      if (sent) parts.fetched(eventKey).catch(parts.broke)
    }
    const { text, ok, files } = letter
    return { type: 'final', id, text, ok, ...(files && { files }), delivered }
  }

  /** What was not delivered yet comes first, then what was said before, then what still waits. */
  async function catchUp(conversation: string, client: Client): Promise<void> {
    await parts.deliverWaiting(laneOf(conversation))
    const { messages, older } = parts.history(conversation)
    client.send({ type: 'history', messages, older })
    await tellPositions(conversation)
  }
}
