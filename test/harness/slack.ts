// The gateway on the loopback Slack, for scenarios.
import { type Channel, type FakeSlack, openSlack, type SlackOptions, type StoredMessage } from '../fakes/slack/index.ts'
import { type TemporaryHome, temporaryHome } from '../fakes/temporary.ts'
import type { RunningGateway } from './gateway.ts'

export interface Stage extends AsyncDisposable {
  readonly slack: FakeSlack
  readonly home: TemporaryHome
  start(env?: Record<string, string>): Promise<RunningGateway>
  settings(env?: Record<string, string>): Record<string, string>
  /** The answer of the bot in the channel or one of its threads that has these words, once it is final. */
  answer(channel: Channel, words: string, ms?: number): Promise<StoredMessage>
}

/** Ada is the owner. */
export async function openStage(options: SlackOptions = {}): Promise<Stage> {
  const slack = await openSlack(options)
  const home = await temporaryHome()
  const settings = (env: Record<string, string> = {}) => ({
    SLACK: 'true',
    SLACK_API: slack.url,
    SLACK_BOT_TOKEN: slack.tokens.bot,
    SLACK_APP_TOKEN: slack.tokens.app,
    OWNERS: `slack:${slack.ada.id}`,
    ...env,
  })
  return {
    slack,
    home,
    settings,
    async start(env) {
      const gateway = await home.start(settings(env))
      await slack.ready()
      return gateway
    },
    answer: (channel, words, ms = 10_000) =>
      slack
        .until(() => finals(slack, channel).find(({ text }) => text.includes(words)), ms)
        .catch(() => {
          const there = slack.answers(channel).map(({ text, thread }) => `${thread ?? 'channel'}: ${text}`)
          throw new Error(`no answer with ${JSON.stringify(words)} among ${JSON.stringify(there, null, 2)}`)
        }),
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]()
      await slack.close()
    },
  }
}

const hasButton = ({ blocks }: StoredMessage): boolean => blocks.some(({ type }) => type === 'actions')

/** What the bot said in a channel and its threads for good: a draft has a button, or is still being streamed. */
export const finals = (slack: FakeSlack, channel: Channel): readonly StoredMessage[] =>
  slack.answers(channel).filter(one => !hasButton(one) && !one.streaming)

export const drafts = (slack: FakeSlack, channel: Channel): readonly StoredMessage[] =>
  slack.answers(channel).filter(one => hasButton(one) || one.streaming)
