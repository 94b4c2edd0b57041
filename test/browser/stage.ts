// A browser and a scripted gateway: the real HTTP server, with the test at the other end of the WebSocket.
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import type { Socket } from '../../src/base/socket.ts'
import { defaultLimits } from '../../src/ui/http/options.ts'
import { openHttp } from '../../src/ui/http/server.ts'
import { fakeHttp } from '../fakes/http-options.ts'
import { fakeRequests } from '../fakes/requests.ts'

export const token = 'browser-token'
/** They outlive a stage, as they outlive a restart of a gateway. */
const { logins } = fakeHttp({ address: { token } })

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  })

/** One browser for all tests of a file. */
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
  /** The next frame of a type that was not returned before. */
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

  const requests = fakeRequests(request => {
    for (const peer of peers) peer.say({ type: 'request', request })
  })
  const server = await openHttp(
    fakeHttp({
      logins,
      address: { port, token },
      health: { version: 'test', status: async () => ({}) },
      admin: { requests },
      webchat: {
        connect: meet,
        newConversation: () => {
          made += 1
          return `talk-${made}`
        },
        message: () => Promise.reject(new Error('not in this test')),
      },
    }),
    { ...defaultLimits, stopMs: 300 },
    stopping.signal,
  )
  return {
    ...server,
    /** What the agent asks; answers go to every page. */
    requests,
    /** The first frames of each connection from now on. */
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

/** Collects what a page must not do: log errors, violate its policy, throw, contact other hosts. */
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
