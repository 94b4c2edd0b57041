// The connection to Discord's gateway, with the fake Discord: growing pauses and resumed sessions.
import { REST } from '@discordjs/rest'
import { expect, test } from 'vitest'
import type { ChatMemory } from '../../src/base/chat.ts'
import type { Signal } from '../../src/base/signal.ts'
import { createConnection, type Dispatch } from '../../src/chat/discord/connection.ts'
import { openDiscord } from '../fakes/discord/index.ts'

function memory(): ChatMemory {
  const kept = new Map<string, string>()
  return {
    get: name => kept.get(name) ?? null,
    put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    list: () => [],
  }
}

async function setup(kept = memory(), intents = 1 | (1 << 9)) {
  const discord = await openDiscord()
  const slept: number[] = []
  const told: Signal[] = []
  const open = (handle: (event: Dispatch) => Promise<boolean> = async () => true, wanted = intents) => {
    const connection = createConnection({
      rest: new REST({ api: discord.url, retries: 0 }).setToken(discord.token),
      ...{ token: discord.token, intents: wanted, memory: kept, chance: () => 0.5, handle },
      emit: signal => void told.push(signal),
      progressed: () => undefined,
      clock: {
        now: () => 0,
        // Pauses are recorded instead of made; only waiting for the other side takes time.
        sleep: (ms, signal) =>
          new Promise(resolve => {
            slept.push(ms)
            const timer = setTimeout(resolve, ms === 2000 || ms === 3000 ? ms : 1)
            signal.addEventListener('abort', () => resolve(clearTimeout(timer)))
          }),
      },
    })
    const stop = new AbortController()
    const life = connection.run(stop.signal)
    const end = async () => {
      stop.abort()
      await life
      connection.save()
    }
    return { connection, life, end }
  }
  return { discord, slept, told, open, kept }
}

test('a connection that breaks again and again is retried with growing pauses', async () => {
  const { discord, slept, open } = await setup()
  await using _ = discord
  const { end } = open()
  for (let i = 0; i < 6; i++) {
    await discord.until(() => discord.connected() === 1)
    discord.closeGateway(4000)
    await discord.until(() => discord.connected() === 0)
  }
  await discord.until(() => discord.connected() === 1)
  const pauses = slept.filter(ms => ms !== 3000)
  expect(pauses.slice(0, 7)).toEqual([0, 0, 1000, 2000, 4000, 8000, 16_000])
  await end()
})

test('only handled events are not replayed', async () => {
  const { discord, open, kept } = await setup()
  await using _ = discord
  let reached = false
  const first = open(async ({ t }) => {
    if (t === 'MESSAGE_CREATE') reached = true
    return t !== 'MESSAGE_CREATE'
  })
  await discord.ready()
  const said = discord.say(discord.ada, discord.general, 'hello')
  await discord.until(() => reached)
  await first.end()
  const heard: string[] = []
  const second = open(async ({ t, d }) => {
    if (t === 'MESSAGE_CREATE') heard.push((d as { id: string }).id)
    return true
  })
  await discord.until(() => heard.length > 0)
  await second.end()
  expect(heard).toEqual([said.id])
  expect(discord.gateway('identify')).toHaveLength(1)
  expect(kept.get('session:0')).toContain('"sequence"')
})

test('a session is not resumed with other intents', async () => {
  const { discord, open } = await setup()
  await using _ = discord
  const first = open()
  await discord.ready()
  await new Promise(resolve => setTimeout(resolve, 50))
  await first.end()
  const second = open(undefined, 1)
  await discord.until(() => discord.gateway('identify').length === 2)
  await second.end()
  expect(discord.gateway('resume')).toEqual([])
})

test('a network failure does not end the session', async () => {
  const { discord, open } = await setup()
  await using _ = discord
  const { end } = open()
  await discord.ready()
  discord.offline(true)
  await discord.until(() => discord.connected() === 0)
  await new Promise(resolve => setTimeout(resolve, 800))
  discord.offline(false)
  await discord.until(() => discord.connected() === 1)
  expect(discord.gateway('identify')).toHaveLength(1)
  await end()
})
