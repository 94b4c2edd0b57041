// The gateway on the loopback Discord, for scenarios.
import {
  type Channel,
  type DiscordOptions,
  type FakeDiscord,
  openDiscord,
  type StoredMessage,
} from '../fakes/discord/index.ts'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import type { RunningGateway } from './gateway.ts'

export interface Stage extends AsyncDisposable {
  readonly discord: FakeDiscord
  readonly home: TemporaryHome
  start(env?: Record<string, string>): Promise<RunningGateway>
  settings(env?: Record<string, string>): Record<string, string>
  /** The bot's answer that contains this text, once it is final. */
  answer(channel: Channel | string, words: string, ms?: number): Promise<StoredMessage>
}

/** Ada is the owner. */
export async function openStage(options: DiscordOptions = {}): Promise<Stage> {
  const discord = await openDiscord(options)
  const home = await temporaryHome()
  const settings = (env: Record<string, string> = {}) => ({
    DISCORD: 'true',
    DISCORD_API: discord.url,
    DISCORD_BOT_TOKEN: discord.token,
    OWNERS: `discord:${discord.ada.id}`,
    ...env,
  })
  return {
    discord,
    home,
    settings,
    start: env => home.start(settings(env)),
    answer: (channel, words, ms = 10_000) =>
      discord
        .until(() => finals(discord, channel).find(({ content }) => content.includes(words)), ms)
        .catch(() => {
          const there = discord.messages(channel).map(({ content, author }) => `${author}: ${content}`)
          throw new Error(`no answer with ${JSON.stringify(words)} among ${JSON.stringify(there, null, 2)}`)
        }),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]()
      await discord.close()
    },
  }
}

/** The bot's finals there; a draft still has its button. */
export const finals = (discord: FakeDiscord, channel: Channel | string): readonly StoredMessage[] =>
  discord.answers(channel).filter(({ components }) => components.length === 0)
