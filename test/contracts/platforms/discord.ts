// Discord for the contract suite: the adapter against the loopback Discord.
import { remoteChats } from '../../../src/chat/index.ts'
import { type Channel, openDiscord } from '../../fakes/discord/index.ts'
import { contextForTests, type Platform } from './platform.ts'

export async function discord(): Promise<Platform> {
  const server = await openDiscord()
  const { context, filesRead, remove } = await contextForTests()
  const options = {
    ...{ enabled: true, botToken: server.token, api: server.url, messageContent: true, threads: 'off' as const },
    ...{ catchupMaxAge: 0, fileOver: 12_000 },
  }
  const chat = await remoteChats.discord.open({ discord: options }, context)
  const rooms = new Map<string, Channel>()
  const room = (conversation: string) => {
    const found = rooms.get(conversation)
    if (!found) throw new Error(`nobody has come to ${conversation}`)
    return found
  }
  return {
    chat,
    filesRead,
    nobodyThere: 'refused',
    reached: () => server.ready(),
    place: conversation => ({ chat: 'discord', conversation: rooms.get(conversation)?.id ?? '1234' }),
    async arrive(conversation) {
      rooms.set(conversation, server.channel(server.home, conversation))
    },
    leave: async conversation => server.removeChannel(room(conversation)),
    say: (conversation, text) => server.say(server.ada, room(conversation), text, { mention: true }).id,
    // A draft has a button.
    seen: conversation =>
      server
        .answers(room(conversation))
        .filter(({ components }) => components.length === 0)
        .map(({ reference, content }) => ({ about: reference ?? '', text: content })),
    async close() {
      await server.close()
      await remove()
    },
  }
}
