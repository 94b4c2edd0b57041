// What every chat must hold, looped over the registry, each against the real far side of its platform.
import { join, resolve } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ChatAdapter, Outgoing } from '../../src/base/chat.ts'
import type { EventSink, NewEvent } from '../../src/base/event.ts'
import { chats } from '../../src/chat/index.ts'
import { openHttp } from '../../src/ui/index.ts'
import { type Client, connect } from '../harness/client.ts'
import { token } from '../harness/gateway.ts'

/** A platform with one person on it. */
interface Platform {
  readonly chat: ChatAdapter
  arrive(conversation: string): Promise<void>
  leave(conversation: string): Promise<void>
  say(conversation: string, id: string, text: string): void
  /** Finals that the person has seen, in order. */
  seen(conversation: string): readonly { about: string; text: string }[]
  close(): Promise<void>
}

const platforms: Record<keyof typeof chats, () => Promise<Platform>> = {
  async webchat() {
    const chat = chats.webchat({
      change: async () => ({ changed: false, reason: 'too late' }),
      stop: () => false,
      deliverWaiting: async () => undefined,
      sent: () => undefined,
      broke: error => {
        throw error
      },
      waiting: async () => [],
      history: () => [],
      final: () => null,
      onFinal: () => undefined,
      fetched: async () => true,
      wasCancelled: () => false,
    })
    const stop = new AbortController()
    const root = resolve(import.meta.dirname, '../..')
    const http = await openHttp(
      {
        host: '127.0.0.1',
        port: 0,
        token,
        webDir: join(root, 'web'),
        modulesDir: join(root, 'node_modules'),
        version: '0',
        ready: () => true,
        status: async () => ({}),
        metrics: async () => '',
        connect: chat.connect,
        newConversation: () => 'new',
        message: chat.message,
        warn: () => undefined,
      },
      stop.signal,
    )
    const clients = new Map<string, Client>()
    const finals = new Map<string, { about: string; text: string }[]>()
    return {
      chat,
      async arrive(conversation) {
        const heard = finals.get(conversation) ?? []
        finals.set(conversation, heard)
        clients.set(
          conversation,
          await connect(http.url, conversation, frame => {
            if (frame.type === 'final') heard.push({ about: frame.id ?? '', text: frame.text ?? '' })
          }),
        )
      },
      leave: async conversation => clients.get(conversation)?.close(),
      say: (conversation, id, text) => clients.get(conversation)?.say(id, text),
      seen: conversation => finals.get(conversation) ?? [],
      async close() {
        stop.abort()
        await http.closed
      },
    }
  },
}

const final = (text: string, about = 'm'): Outgoing => ({
  key: `k-${text}`,
  kind: 'final',
  about,
  text,
  ok: true,
  action: null,
})
const never = new AbortController().signal
const opened: Platform[] = []
afterEach(async () => {
  for (const platform of opened.splice(0)) await platform.close()
})

describe.each(Object.keys(chats) as (keyof typeof chats)[])('the chat %s', name => {
  const open = async () => {
    const platform = await platforms[name]()
    opened.push(platform)
    return platform
  }
  const listen = (platform: Platform, sink: EventSink) => {
    const stop = new AbortController()
    const life = platform.chat.run(sink, stop.signal)
    return async () => {
      stop.abort()
      await life
    }
  }

  test('what a person says becomes an event with a key of its own and the way back', async () => {
    const platform = await open()
    const heard: NewEvent[] = []
    const end = listen(platform, async event => {
      heard.push(event)
      return { type: 'accepted', id: heard.length, position: 0 }
    })
    await platform.arrive('room')
    platform.say('room', 'm1', 'hello')
    platform.say('room', 'm2', 'hello')
    await expect.poll(() => heard.length).toBe(2)
    expect(heard[0]).toMatchObject({
      source: name,
      what: { kind: 'message', id: 'm1', text: 'hello' },
      replyTo: { chat: name, conversation: 'room' },
    })
    expect(heard[0]?.key).not.toBe(heard[1]?.key)
    expect(heard[0]?.lane).toBe(heard[1]?.lane)
    await end()
  })

  test('its life ends with the signal, and then it takes nothing more', async () => {
    const platform = await open()
    let heard = 0
    const end = listen(platform, async () => {
      heard++
      return { type: 'accepted', id: 1, position: 0 }
    })
    await platform.arrive('room')
    await end()
    platform.say('room', 'm1', 'too late')
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(heard).toBe(0)
  })

  test('a final that is posted was really seen, in order, and in the right place', async () => {
    const platform = await open()
    await platform.arrive('one')
    await platform.arrive('two')
    const place = (conversation: string) => ({ chat: name, conversation })
    expect((await platform.chat.post(place('one'), final('a'), never)).type).toBe('posted')
    expect(platform.seen('one')).toEqual([{ about: 'm', text: 'a' }])
    await platform.chat.post(place('two'), final('b'), never)
    await platform.chat.post(place('one'), final('c'), never)
    expect(platform.seen('one').map(one => one.text)).toEqual(['a', 'c'])
    expect(platform.seen('two').map(one => one.text)).toEqual(['b'])
  })

  test('when nobody is there a final is not said to be posted', async () => {
    const platform = await open()
    expect(await platform.chat.post({ chat: name, conversation: 'empty' }, final('x'), never)).toEqual({
      type: 'absent',
    })
    await platform.arrive('left')
    await platform.leave('left')
    await expect
      .poll(async () => (await platform.chat.post({ chat: name, conversation: 'left' }, final('x'), never)).type)
      .toBe('absent')
  })

  test('a draft can be posted and edited at its pace, whoever is there', async () => {
    const platform = await open()
    await platform.arrive('room')
    for (const conversation of ['room', 'empty']) {
      const place = { chat: name, conversation }
      const posted = await platform.chat.post(place, { ...final('so far'), kind: 'draft' }, never)
      if (posted.type === 'posted')
        await platform.chat.edit(posted.ref, { ...final('so far and more'), kind: 'draft' }, never)
      await platform.chat.typing(place, AbortSignal.abort())
    }
    expect(platform.seen('room')).toEqual([])
    expect(platform.chat.limits.editEveryMs).toBeGreaterThan(0)
    expect(platform.chat.limits.measure('abc')).toBeGreaterThan(0)
  })
})
