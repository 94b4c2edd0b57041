// The chat adapter for Telegram.
import { aborted } from '../../base/aborted.ts'
import type { ChatAdapter, Delivery, Outgoing } from '../../base/chat.ts'
import type { ChatContext } from '../../base/chat-module.ts'
import type { Place } from '../../base/event.ts'
import { openAnswers } from '../live-drafts.ts'
import { createLifetime, openButtoned, postOrDraft } from '../sender.ts'
import type { Us } from './addressed.ts'
import { createApi } from './api.ts'
import { createClicks } from './clicks.ts'
import { menuOf, setMenu } from './commands.ts'
import { readConversation } from './conversation.ts'
import { createDrafts, editEveryMs } from './drafts.ts'
import { badToken, troubleOf } from './errors.ts'
import { fetchFiles } from './files-in.ts'
import { openGroups } from './groups.ts'
import { createInbound, keyOf } from './inbound.ts'
import { openJournal } from './journal.ts'
import { createMediaGroups } from './media-groups.ts'
import type { TelegramOptions } from './options.ts'
import { createPace } from './pace.ts'
import { createPolling } from './polling.ts'
import { createPoster } from './poster.ts'
import { limits } from './render.ts'
import { createSending } from './send.ts'

/** Telegram shows typing for five seconds. */
const typingEveryMs = 4000

export function openTelegram(options: TelegramOptions, context: ChatContext): ChatAdapter {
  const { workspace, commands, people, deliveries, memory, clock, emit } = context
  const name = 'telegram'
  const api = createApi(options)
  const lifetime = createLifetime(clock)
  const { accept } = lifetime
  let us: Us | null = null

  const trouble = (why: string) => emit({ type: 'chat-trouble', chat: name, why })
  const groups = openGroups(memory)
  const answers = openAnswers(memory)
  const journal = openJournal(memory)
  const poster = createPoster(api, journal, createPace(clock), clock)
  const sending = createSending({
    ...{ api, answers, groups, journal, poster, readFile: workspace.readFile, sent: deliveries.sent },
    buttoned: openButtoned(memory),
    refusedToken: () => lifetime.giveUp(badToken),
  })
  const drafts = createDrafts({
    ...{ api, clock, writeMessage: sending.writeDraft, stops: sending.stops },
    held: ({ conversation }, about) => answers.draftOf(about) === null && deliveries.isUnderway(conversation),
    lost: (place, why) => emit({ type: 'draft-lost', place, why }),
  })
  const post = (place: Place, message: Outgoing, signal: AbortSignal) => sending.post(place, message, drafts, signal)

  /** Sent through the outbox, which keeps it until it has arrived; directly if it cannot be stored. */
  async function explain(conversation: string, id: string, reason: string): Promise<void> {
    const place = { chat: name, conversation }
    const delivery: Delivery = { place, kind: 'notice', about: id, text: reason, ok: false }
    const key = `${keyOf(id)}#refused`
    await deliveries.put(key, delivery).catch(() => post(place, { ...delivery, key, action: null }, lifetime.signal()))
  }

  const answerButton = (query: string, words: string) =>
    sending.answerButton(query, words).catch(error => trouble(troubleOf(error).why))
  const handle = createInbound({
    ...{ api, groups, accept, explain, trouble, workspace: workspace.dir, seen: journal.seen },
    ...{ change: context.change, knows: people.knows, broke: context.broke },
    collect: createMediaGroups(clock, lifetime.signal),
    commands: [...commands.list.flatMap(({ names }) => names), 'start'],
    us: () => us ?? { id: 0, username: '' },
    fetch: (id, messages) => fetchFiles(id, messages, api, options, workspace.dir, lifetime.signal()),
    answerButton,
    clicks: createClicks({ api, memory, poster, answerButton, explain, trouble, clicked: context.clicked }),
  })
  const polling = createPolling({
    ...{ api, clock, emit, handle },
    async identify() {
      const { id, username } = await api.getMe()
      us = { id, username }
    },
    connected(resumed) {
      emit({ type: 'chat-ready', chat: name, bot: us?.username ?? '', guilds: 0, shard: null, resumed })
      void sending.removeLeftDrafts()
      if (us && !resumed) void setMenu(api, memory, us.id, menuOf(commands.list), trouble)
    },
  })

  async function typing({ conversation }: Place, signal: AbortSignal): Promise<void> {
    const place = readConversation(conversation)
    const thread = place?.topic ? { message_thread_id: place.topic } : {}
    while (!signal.aborted && place) {
      try {
        await api.sendChatAction(groups.current(place.chat), 'typing', thread)
      } catch (error) {
        if (troubleOf(error).type !== 'passing') throw error
      }
      await clock.sleep(typingEveryMs, signal)
    }
  }

  return {
    name,
    limits: { ...limits, editEveryMs, fileOver: options.fileOver, buttons: true },

    ...postOrDraft(drafts, post),
    typing,

    run: (sink, signal) =>
      lifetime.run(sink, signal, async life => {
        await polling.run(life)
        // It ends early if an update is given back.
        await aborted(life)
      }),
  }
}
