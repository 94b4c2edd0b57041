// A browser and a gateway that does what the test says: the real server, a scripted other end of the wire.
import { resolve } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import type { Socket } from '../../src/base/socket.ts'
import { openHttp } from '../../src/ui/http/server.ts'
import { noPairing } from '../fakes/no-pairing.ts'

export const token = 'browser-token'
const root = resolve(import.meta.dirname, '../..')

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  })

const nothing = { messages: [], older: null, newer: null }
const noTalks = { list: () => [], before: () => nothing, from: () => nothing, search: async () => [] }

/** One for all tests of a file. */
export const sharedBrowser = (): (() => Browser) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())
  return () => browser
}

export type Frame = { readonly type: string; readonly id: string; readonly text: string }

/** One connection of a page, as the gateway sees it. */
export interface Peer {
  readonly conversation: string
  readonly heard: Frame[]
  say(...frames: object[]): void
  /** The next frame of a type that was not asked for before. */
  next(type: string): Promise<Frame>
  hangUp(): void
}

export const openStage = async (port = 0) => {
  const stopping = new AbortController()
  const peers: Peer[] = []
  let made = 0
  let greet = (peer: Peer): void => peer.say({ type: 'history', messages: [] })

  const meet = (socket: Socket, conversation: string): void => {
    const heard: Frame[] = []
    const asked = new Set<Frame>()
    socket.onText(text => void heard.push(JSON.parse(text)))
    const peer: Peer = {
      conversation,
      heard,
      say: (...frames) => {
        for (const frame of frames) socket.send(JSON.stringify(frame))
      },
      next: type =>
        until(`a ${type}`, () => {
          const frame = heard.find(one => one.type === type && !asked.has(one))
          if (frame !== undefined) asked.add(frame)
          return frame
        }),
      hangUp: () => socket.close(1012, 'restarting'),
    }
    peer.say({ type: 'hello', conversation })
    greet(peer)
    peers.push(peer)
  }

  const server = await openHttp(
    {
      host: '127.0.0.1',
      port,
      token,
      webDir: resolve(root, 'web'),
      modulesDir: resolve(root, 'node_modules'),
      version: 'test',
      ready: () => true,
      status: async () => ({}),
      metrics: async () => '',
      connect: meet,
      newConversation: () => {
        made += 1
        return `talk-${made}`
      },
      message: () => Promise.reject(new Error('not in this test')),
      pairing: noPairing,
      talks: noTalks,
      warn: () => {},
      limits: { stopMs: 300 },
    },
    stopping.signal,
  )
  return {
    ...server,
    /** What a page is told first, from now on. */
    greetWith(speech: (peer: Peer) => void) {
      greet = speech
    },
    peer: (number = 0): Promise<Peer> => until(`connection ${number}`, () => peers[number]),
    async stop() {
      stopping.abort()
      await server.closed
    },
  }
}

/** Everything a quiet page must not do: log, break its policy, throw, ask elsewhere. */
export const watch = (page: Page, origin: string): string[] => {
  const trouble: string[] = []
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) trouble.push(`console: ${message.text()}`)
  })
  page.on('pageerror', error => trouble.push(`error: ${error.message}`))
  page.on('dialog', dialog => {
    trouble.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      trouble.push(`request: ${request.url()}`)
  })
  page.on('websocket', socket => {
    if (!socket.url().startsWith(origin.replace('http', 'ws'))) trouble.push(`socket: ${socket.url()}`)
  })
  return trouble
}

export const until = async <T>(what: string, look: () => T | undefined): Promise<T> => {
  for (let i = 0; i < 500; i += 1) {
    const found = look()
    if (found !== undefined) return found
    await new Promise(done => setTimeout(done, 20))
  }
  throw new Error(`waited in vain for ${what}`)
}
