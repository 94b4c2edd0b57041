// A minimal bot made of the real libraries, to test the fake Discord with.
import { API, GatewayIntentBits } from '@discordjs/core'
import { REST } from '@discordjs/rest'
import { type SessionInfo, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import type { FakeDiscord } from './index.ts'

export const ordinaryIntents =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.MessageContent

interface Heard {
  readonly t: string
  readonly d: Record<string, unknown>
}

/** A test that passes its own `session` simulates a restart. */
export const openBot = (
  discord: FakeDiscord,
  options: { intents?: number; session?: { kept: SessionInfo | null }; token?: string } = {},
) => {
  const token = options.token ?? discord.token
  const rest = new REST({ api: discord.url, version: '10', retries: 2 }).setToken(token)
  const session = options.session ?? { kept: null }
  const heard: Heard[] = []
  const errors: unknown[] = []
  const closed: number[] = []
  let stopped = false
  const gateway = new WebSocketManager({
    token,
    rest,
    intents: options.intents ?? ordinaryIntents,
    // The library's own throttler waits 5 s between two identifies.
    buildIdentifyThrottler: () => ({ waitForIdentify: async () => {} }),
    retrieveSessionInfo: () => session.kept,
    updateSessionInfo: (_shard, info) => {
      // The library forgets the session when it is stopped, even with a close code that keeps it.
      if (!stopped) session.kept = info
    },
  })
  gateway.on(WebSocketShardEvents.Dispatch, payload => {
    heard.push({ t: payload.t, d: payload.d as unknown as Record<string, unknown> })
  })
  gateway.on(WebSocketShardEvents.Error, error => errors.push(error))
  gateway.on(WebSocketShardEvents.SocketError, error => errors.push(error))
  gateway.on(WebSocketShardEvents.Closed, code => closed.push(code))
  return {
    api: new API(rest),
    rest,
    heard,
    errors,
    closed,
    texts: () => heard.filter(one => one.t === 'MESSAGE_CREATE').map(one => one.d.content),
    connect: () => gateway.connect(),
    /** 4200 keeps the session, 1000 ends it. */
    async stop(code: 1000 | 4200 = 1000): Promise<void> {
      stopped = code === 4200
      await gateway.destroy({ code })
    },
  }
}

export type Bot = ReturnType<typeof openBot>
