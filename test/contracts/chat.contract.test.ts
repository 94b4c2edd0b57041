// The contract of every chat, looped over the registry, each with the fake server of its platform.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/app/system-clock.ts'
import type { ChatAdapter, Outgoing, Posted } from '../../src/base/chat.ts'
import type { EventSink, NewEvent, Place } from '../../src/base/event.ts'
import { createWebchat, remoteChats } from '../../src/chat/index.ts'
import { openHttp } from '../../src/ui/index.ts'
import { type Channel, openDiscord } from '../fakes/discord/index.ts'
import { fakeHttp } from '../fakes/http-options.ts'
import { type Client, connect } from '../harness/client.ts'
import { token } from '../harness/gateway.ts'

/** A platform with one person on it. */
interface Platform {
  readonly chat: ChatAdapter
  /** Resolves when the chat is connected. */
  reached(): Promise<void>
  arrive(conversation: string): Promise<void>
  leave(conversation: string): Promise<void>
  /** The platform's id of a conversation in the tests. */
  place(conversation: string): Place
  /** The message's id on the platform. */
  say(conversation: string, text: string): string
  /** The result of posting a final with nobody connected. */
  readonly nobodyThere: Posted['type']
  /** Finals shown to the person, in order. */
  seen(conversation: string): readonly { about: string; text: string }[]
  close(): Promise<void>
}

const platforms: Record<'webchat' | keyof typeof remoteChats, () => Promise<Platform>> = {
  async webchat() {
    const chat = createWebchat({
      attach: async () => null,
      refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
      change: async () => ({ changed: false, reason: 'too late' }),
      stop: () => false,
      deliverWaiting: async () => undefined,
      sent: () => undefined,
      broke: error => {
        throw error
      },
      waiting: async () => [],
      positions: () => [],
      history: () => ({ messages: [], older: null }),
      final: () => null,
      onFinal: () => undefined,
      fetched: async () => true,
      wasCancelled: () => false,
    })
    const stop = new AbortController()
    const http = await openHttp(
      fakeHttp({ address: { token }, webchat: { connect: chat.connect, message: chat.message } }),
      stop.signal,
    )
    const clients = new Map<string, Client>()
    const finals = new Map<string, { about: string; text: string }[]>()
    let said = 0
    return {
      chat,
      nobodyThere: 'absent',
      reached: async () => undefined,
      place: conversation => ({ chat: 'webchat', conversation }),
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
      say(conversation, text) {
        const id = `m${++said}`
        clients.get(conversation)?.say(id, text)
        return id
      },
      seen: conversation => finals.get(conversation) ?? [],
      async close() {
        stop.abort()
        await http.closed
      },
    }
  },

  async discord() {
    const discord = await openDiscord()
    const workspace = await mkdtemp(join(tmpdir(), 'aetheel-contract-'))
    const kept = new Map<string, string>()
    const options = {
      ...{ enabled: true, botToken: discord.token, api: discord.url, messageContent: true, threads: 'off' as const },
      ...{ catchupMaxAge: 0, fileOver: 12_000 },
    }
    const chat = await remoteChats.discord.open(
      { discord: options },
      {
        ...{ clock: systemClock, chance: Math.random },
        workspace: { dir: workspace, readFile: async () => null },
        commands: { list: [], completes: [], suggest: () => [] },
        people: { knows: () => true, known: () => [] },
        deliveries: { put: async () => undefined, isUnderway: () => false, sent: () => undefined },
        memory: {
          get: name => kept.get(name) ?? null,
          put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
          list: prefix =>
            [...kept].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ name, value })),
        },
        emit: () => undefined,
        change: async () => ({ changed: false, reason: 'too late' }),
        broke: error => {
          throw error
        },
      },
    )
    const rooms = new Map<string, Channel>()
    const room = (conversation: string) => {
      const found = rooms.get(conversation)
      if (!found) throw new Error(`nobody has come to ${conversation}`)
      return found
    }
    return {
      chat,
      nobodyThere: 'refused',
      reached: () => discord.ready(),
      place: conversation => ({ chat: 'discord', conversation: rooms.get(conversation)?.id ?? '1234' }),
      async arrive(conversation) {
        rooms.set(conversation, discord.channel(discord.home, conversation))
      },
      leave: async conversation => discord.removeChannel(room(conversation)),
      say: (conversation, text) => discord.say(discord.ada, room(conversation), text, { mention: true }).id,
      // A draft has a button.
      seen: conversation =>
        discord
          .answers(room(conversation))
          .filter(({ components }) => components.length === 0)
          .map(({ reference, content }) => ({ about: reference ?? '', text: content })),
      async close() {
        await discord.close()
        await rm(workspace, { recursive: true })
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

describe.each(Object.keys(platforms) as (keyof typeof platforms)[])('the chat %s', name => {
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

  test('a message becomes an event with its own key and a place to reply to', async () => {
    const platform = await open()
    const heard: NewEvent[] = []
    await platform.arrive('room')
    const end = listen(platform, async event => {
      heard.push(event)
      return { type: 'accepted', id: heard.length, position: 0 }
    })
    await platform.reached()
    const id = platform.say('room', 'hello')
    platform.say('room', 'hello')
    await expect.poll(() => heard.length).toBe(2)
    expect(heard[0]).toMatchObject({
      source: name,
      what: { kind: 'message', id, text: 'hello' },
      replyTo: platform.place('room'),
    })
    expect(heard[0]?.key).not.toBe(heard[1]?.key)
    expect(heard[0]?.lane).toBe(heard[1]?.lane)
    await end()
  })

  test('it ends with the signal, and accepts nothing afterwards', async () => {
    const platform = await open()
    let heard = 0
    await platform.arrive('room')
    const end = listen(platform, async () => {
      heard++
      return { type: 'accepted', id: 1, position: 0 }
    })
    await platform.reached()
    await end()
    platform.say('room', 'too late')
    await new Promise(resolve => setTimeout(resolve, 100))
    expect(heard).toBe(0)
  })

  test('a posted final was really shown, in order, and in the right place', async () => {
    const platform = await open()
    await platform.arrive('one')
    await platform.arrive('two')
    const [first, second, third] = [
      platform.say('one', 'a?'),
      platform.say('two', 'b?'),
      platform.say('one', 'c?'),
    ] as const
    expect((await platform.chat.post(platform.place('one'), final('a', first), never)).type).toBe('posted')
    expect(platform.seen('one')).toEqual([{ about: first, text: 'a' }])
    await platform.chat.post(platform.place('two'), final('b', second), never)
    await platform.chat.post(platform.place('one'), final('c', third), never)
    expect(platform.seen('one').map(one => one.text)).toEqual(['a', 'c'])
    expect(platform.seen('two').map(one => one.text)).toEqual(['b'])
  })

  test('a final posted twice under one key is shown once, or recognisably as the same', async () => {
    const platform = await open()
    await platform.arrive('one')
    const about = platform.say('one', 'a?')
    for (let i = 0; i < 2; i++) await platform.chat.post(platform.place('one'), final('a', about), never)
    expect(new Set(platform.seen('one').map(one => JSON.stringify(one))).size).toBe(1)
  })

  test('with nobody connected, a final is not reported as posted', async () => {
    const platform = await open()
    const { nobodyThere } = platform
    expect((await platform.chat.post(platform.place('empty'), final('x'), never)).type).toBe(nobodyThere)
    await platform.arrive('left')
    await platform.leave('left')
    await expect
      .poll(async () => (await platform.chat.post(platform.place('left'), final('x'), never)).type)
      .toBe(nobodyThere)
  })

  test('a draft can be posted and edited at its pace, with or without anybody connected', async () => {
    const platform = await open()
    await platform.arrive('room')
    for (const conversation of ['room', 'empty']) {
      const place = platform.place(conversation)
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
