// The gateway on the loopback Telegram, for scenarios.
import {
  type Chat,
  type FakeTelegram,
  openTelegram,
  type StoredMessage,
  type TelegramOptions,
} from '../fakes/telegram/index.ts'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import type { RunningGateway } from './gateway.ts'

export interface TelegramStage extends AsyncDisposable {
  readonly telegram: FakeTelegram
  readonly home: TemporaryHome
  start(env?: Record<string, string>): Promise<RunningGateway>
  settings(env?: Record<string, string>): Record<string, string>
  /** The answer of the bot that has these words, once it is final. */
  answer(chat: Chat, words: string, ms?: number): Promise<StoredMessage>
}

/** Ada is the owner. */
export async function openStage(options: TelegramOptions = {}): Promise<TelegramStage> {
  const telegram = await openTelegram(options)
  const home = await temporaryHome()
  const settings = (env: Record<string, string> = {}) => ({
    TELEGRAM: 'true',
    TELEGRAM_API: telegram.url,
    TELEGRAM_BOT_TOKEN: telegram.token,
    OWNERS: `telegram:${telegram.ada.id}`,
    ...env,
  })
  return {
    telegram,
    home,
    settings,
    start: env => home.start(settings(env)),
    answer: (chat, words, ms = 10_000) =>
      telegram
        .until(() => telegram.finals(chat).find(({ text }) => text.includes(words)), ms)
        .catch(() => {
          const there = telegram.messages(chat).map(({ text, from, buttons }) => `${from} ${buttons}: ${text}`)
          throw new Error(`no answer with ${JSON.stringify(words)} among ${JSON.stringify(there, null, 2)}`)
        }),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]()
      await telegram.close()
    },
  }
}
