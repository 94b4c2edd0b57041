// Slack for the contract suite: the adapter against the loopback Slack.
import { remoteChats } from '../../../src/chat/index.ts'
import { type Channel, openSlack, type StoredMessage } from '../../fakes/slack/index.ts'
import { finals } from '../../harness/slack.ts'
import { contextForTests, type Platform } from './platform.ts'

export async function slack(): Promise<Platform> {
  const server = await openSlack()
  const { context, filesRead, clicks, remove } = await contextForTests()
  const options = {
    ...{ enabled: true, botToken: server.tokens.bot, appToken: server.tokens.app, api: server.url },
    ...{ threads: 'off' as const, catchupMaxAge: 0, fileOver: 12_000 },
  }
  const chat = await remoteChats.slack.open({ slack: options }, context)
  const rooms = new Map<string, Channel>()
  const room = (conversation: string) => {
    const found = rooms.get(conversation)
    if (!found) throw new Error(`nobody has come to ${conversation}`)
    return found
  }
  const idsIn = ({ blocks }: StoredMessage) =>
    blocks.flatMap(({ type, elements }) =>
      type === 'actions' ? (elements as { action_id: string }[]).map(({ action_id }) => action_id) : [],
    )
  const buttoned = (conversation: string) => server.answers(room(conversation)).findLast(one => idsIn(one).length > 0)
  return {
    chat,
    filesRead,
    nobodyThere: 'refused',
    reached: () => server.ready(),
    place: conversation => ({ chat: 'slack', conversation: rooms.get(conversation)?.id ?? 'C1234' }),
    async arrive(conversation) {
      rooms.set(conversation, server.channel(conversation, [server.ada]))
    },
    leave: async conversation => server.kick(room(conversation)),
    say(conversation, text) {
      const { id } = room(conversation)
      return `${id}:${server.say(server.ada, room(conversation), text, { mention: true }).ts}`
    },
    seen: conversation =>
      finals(server, room(conversation)).map(({ text, metadata }) => ({
        about: String(metadata?.event_payload.about ?? ''),
        text,
      })),
    buttons: {
      clicks,
      loseAnswer: () => void server.fail('chat.postMessage', { storeFirst: true }),
      shown(conversation) {
        const found = buttoned(conversation)
        return found ? { text: found.text, ids: idsIn(found) } : null
      },
      async click(conversation, id) {
        const message = buttoned(conversation)
        if (!message) throw new Error('no buttons')
        server.press(server.ada, message, id)
      },
      notes: () => server.ephemerals(server.ada).map(({ text }) => text),
      isAsked: () => server.dialogs(server.ada).length > 0,
      write: async (_, text) => server.submit(server.ada, text),
    },
    async close() {
      await server.close()
      await remove()
    },
  }
}
