// Discord for the contract suite: the adapter against the loopback Discord.
import { remoteChats } from '../../../src/chat/index.ts'
import { type Channel, type Interaction, openDiscord, type StoredMessage } from '../../fakes/discord/index.ts'
import { contextForTests, type Platform } from './platform.ts'

export async function discord(): Promise<Platform> {
  const server = await openDiscord()
  const { context, filesRead, clicks, remove } = await contextForTests()
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
  const idsIn = ({ components }: StoredMessage) =>
    (components as { components: { custom_id: string }[] }[]).flatMap(row => row.components.map(one => one.custom_id))
  const buttoned = (conversation: string) => {
    const found = server.answers(room(conversation)).findLast(one => idsIn(one).length > 0)
    if (!found) throw new Error('no buttons')
    return found
  }
  const interactions: Interaction[] = []
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
    buttons: {
      clicks,
      loseAnswer: () => void server.fail('POST /channels/:id/messages', { status: 502, storeFirst: true }),
      shown(conversation) {
        const found = server.answers(room(conversation)).findLast(one => idsIn(one).length > 0)
        return found ? { text: found.content, ids: idsIn(found) } : null
      },
      async click(conversation, id) {
        interactions.push(await server.click(server.ada, buttoned(conversation), id))
      },
      notes: () => interactions.flatMap(({ ephemeral, original }) => (ephemeral && original ? [original.content] : [])),
      isAsked: () => interactions.at(-1)?.first === 'modal',
      async write(conversation, text) {
        const dialog = interactions.at(-1)
        if (!dialog) throw new Error('nothing is asked')
        interactions.push(await server.submit(server.ada, buttoned(conversation), dialog, text))
      },
    },
    async close() {
      await server.close()
      await remove()
    },
  }
}
