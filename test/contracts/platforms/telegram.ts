// Telegram for the contract suite: the adapter against the loopback Telegram.
import { remoteChats } from '../../../src/chat/index.ts'
import { type Chat, openTelegram } from '../../fakes/telegram/index.ts'
import { contextForTests, type Platform } from './platform.ts'

export async function telegram(): Promise<Platform> {
  const server = await openTelegram()
  const { context, filesRead, clicks, remove } = await contextForTests()
  const options = { enabled: true, botToken: server.token, api: server.url, fileOver: 20_000 }
  const chat = await remoteChats.telegram.open({ telegram: options }, context)
  const rooms = new Map<string, Chat>()
  const room = (conversation: string) => {
    const found = rooms.get(conversation)
    if (!found) throw new Error(`nobody has come to ${conversation}`)
    return found
  }
  const buttoned = (conversation: string) => server.answers(room(conversation)).findLast(one => one.buttons.length > 0)
  const prompt = (conversation: string) => server.answers(room(conversation)).findLast(one => one.forcesReply)
  const answers: (() => string | null)[] = []
  const idOf = (where: Chat, id: number | null) => (id === null ? '' : `${where.id}.${id}`)
  return {
    chat,
    filesRead,
    nobodyThere: 'refused',
    reached: async () => void (await server.until(() => server.requests('getUpdates').length > 0)),
    place: conversation => ({ chat: 'telegram', conversation: String(rooms.get(conversation)?.id ?? 1234) }),
    async arrive(conversation) {
      rooms.set(conversation, server.group(conversation))
    },
    leave: async conversation => server.bar(room(conversation)),
    say: (conversation, text) =>
      idOf(room(conversation), server.say(server.ada, room(conversation), text, { mention: true }).id),
    seen: conversation =>
      server
        .finals(room(conversation))
        .map(({ replyTo, text }) => ({ about: idOf(room(conversation), replyTo), text })),
    buttons: {
      clicks,
      loseAnswer: () => void server.fail('sendMessage', { storeFirst: true, cut: true }),
      shown(conversation) {
        const found = buttoned(conversation)
        return found ? { text: found.text, ids: found.buttons } : null
      },
      async click(conversation, id) {
        const message = buttoned(conversation)
        if (!message) throw new Error('no buttons')
        const answer = server.press(server.ada, message, id)
        answers.push(answer)
        await server.until(() => answer() !== null)
      },
      notes: () => answers.map(answer => answer() ?? '').filter(Boolean),
      isAsked: conversation => prompt(conversation) !== undefined,
      async write(conversation, text) {
        const found = prompt(conversation)
        if (!found) throw new Error('nothing is asked')
        server.say(server.ada, room(conversation), text, { replyTo: found })
      },
    },
    async close() {
      await server.close()
      await remove()
    },
  }
}
