// WebChat for the contract suite: the real HTTP server and a real socket.
import { createWebchat } from '../../../src/chat/index.ts'
import { openHttp } from '../../../src/ui/index.ts'
import { fakeHttp } from '../../fakes/http-options.ts'
import { type Client, connect } from '../../harness/client.ts'
import { token } from '../../harness/gateway.ts'
import type { Platform } from './platform.ts'

export async function webchat(): Promise<Platform> {
  const chat = createWebchat({
    attach: async () => null,
    refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
    change: async () => ({ changed: false, reason: 'too late' }),
    stop: () => false,
    steer: async () => null,
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
    filesRead: null,
    buttons: null,
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
}
