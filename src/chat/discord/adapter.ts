// The chat adapter for Discord.

import { API, GatewayIntentBits } from '@discordjs/core'
import { REST } from '@discordjs/rest'
import type { ChatAdapter, Delivery, Outgoing } from '../../base/chat.ts'
import type { ChatContext } from '../../base/chat-module.ts'
import type { Attachment, Place } from '../../base/event.ts'
import { openAnswers } from '../live-drafts.ts'
import { createRequests } from '../requests.ts'
import { createLifetime, openButtoned, postOrDraft } from '../sender.ts'
import { type AttachmentSeen, dropAttachments, fetchAttachments } from './attachments.ts'
import { createClicks } from './clicks.ts'
import { definitionsOf } from './commands.ts'
import { createConnection } from './connection.ts'
import { createDirectMessages } from './direct-messages.ts'
import { createDispatches, recallSelf, type Self, shareOf } from './dispatches.ts'
import { badToken, troubleOf } from './errors.ts'
import { createInbound } from './inbound.ts'
import { createInteractions } from './interactions.ts'
import { keyOf } from './message.ts'
import type { DiscordOptions } from './options.ts'
import { openCursors, openPlaces, openThreads } from './places.ts'
import { createPoster, createPostJournal, limits } from './poster.ts'
import { registerCommands } from './register-commands.ts'
import { createDrafts, createPendingQuestions, createSending, editEveryMs } from './send.ts'

/** For a request with all its files. A stalled request is given up much earlier. */
const requestMs = 300_000
/** Discord shows typing for ten seconds. */
const typingEveryMs = 8000
const saveEveryMs = 1000

export function openDiscord(options: DiscordOptions, context: ChatContext): ChatAdapter {
  const { workspace, commands, people, deliveries, memory, clock, emit } = context
  const token = options.botToken ?? ''
  const name = 'discord'
  // Retries are up to the outbox.
  const patience = { retries: 0, rejectOnRateLimit: () => true, timeout: requestMs }
  const rest = new REST({ api: options.api, version: '10', ...patience, makeRequest: createRequests() }).setToken(token)
  const api = new API(rest)
  const lifetime = createLifetime(clock)
  const { accept } = lifetime

  let self = recallSelf(memory)
  // A resumed session does not tell who we are, so without that a new session is needed.
  if (self === null) for (const { name: session } of memory.list('session:')) memory.put(session, null)

  const ourId = () => self?.id ?? ''
  const trouble = (why: string) => emit({ type: 'chat-trouble', chat: name, why })
  const reportError = (error: unknown) => trouble(troubleOf(error).why)
  const fetch = (message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]> =>
    fetchAttachments(message, files, { workspace: workspace.dir, api: options.api }, lifetime.signal())

  const cursors = openCursors(memory)
  const places = openPlaces(api, ourId, clock, reportError)
  const answers = openAnswers(memory)
  const asked = createPendingQuestions(memory, clock.now)
  const threads = openThreads(api, memory, cursors.takePart)
  const posts = createPostJournal(memory, clock)
  const sending = createSending({
    ...{ api, answers, asked, threads, buttoned: openButtoned(memory), poster: createPoster(api, posts, ourId) },
    ...{ readFile: workspace.readFile, sent: deliveries.sent },
    refusedToken: () => lifetime.giveUp(badToken),
  })
  const drafts = createDrafts({
    clock,
    write: sending.writeDraft,
    held: ({ conversation }, about) => answers.draftOf(about) === null && deliveries.isUnderway(conversation),
    lost: (place, why) => emit({ type: 'draft-lost', place, why }),
  })

  let saving = false
  const saveNow = () => {
    cursors.save()
    connection.save()
  }
  /** Losing it only costs time, because Discord sends it again; so it is saved only now and then. */
  const save = (when: 'now' | 'soon') => {
    if (when === 'now') return saveNow()
    if (saving) return
    saving = true
    void clock.sleep(saveEveryMs, lifetime.signal()).then(() => {
      saving = false
      saveNow()
    })
  }

  const directs = createDirectMessages({ api, memory, clock, people: people.known, trouble })
  const inbound = createInbound({
    ...{ api, clock, cursors, places, threads, directs, ourId, accept, fetch, save, trouble },
    ...{ workspace: workspace.dir, opensThreads: options.threads === 'auto', catchUpMs: options.catchupMaxAge },
    ...{ change: context.change, knows: people.knows, broke: context.broke },
    explain,
    catchingUp: count => emit({ type: 'chat-catching-up', chat: name, places: count }),
    caughtUp: messages => emit({ type: 'chat-caught-up', chat: name, messages }),
  })
  const onInteraction = createInteractions({
    ...{ api, asked, clock, accept, fetch, trouble, learn: places.learnChannel, spot: places.spot },
    ...{ knows: people.knows, suggest: commands.suggest, isConversation: threads.has },
    isPrivate: command => commands.list.some(({ names, asks }) => !asks && names.includes(command)),
    drop: message => dropAttachments(message, workspace.dir),
  })
  const onClick = createClicks({ api, clock, trouble, spot: places.spot, clicked: context.clicked })
  const handle = createDispatches({
    ...{ clock, cursors, places, inbound, saveSelf, ready, self: () => self, life: lifetime.signal },
    posted: posts.received,
    async interaction(one, missed) {
      try {
        if (!(await onClick(one))) await onInteraction(one, missed)
      } catch (error) {
        context.broke(error)
      }
      save('now')
    },
  })
  const intents =
    GatewayIntentBits.Guilds |
    GatewayIntentBits.GuildMessages |
    GatewayIntentBits.DirectMessages |
    (options.messageContent ? GatewayIntentBits.MessageContent : 0)
  const connection = createConnection({
    ...{ rest, token, intents, memory, clock, chance: context.chance, emit },
    handle(event) {
      return lifetime.handling(handle(event), context.broke)
    },
    progressed: () => save('soon'),
  })

  /** Sent through the outbox, which keeps it until it has arrived; directly if it cannot be stored. */
  async function explain(channel: string, message: string, reason: string): Promise<void> {
    const place = { chat: name, conversation: channel }
    const delivery: Delivery = { place, kind: 'notice', about: message, text: reason, ok: false }
    const key = `${keyOf(message)}#refused`
    await deliveries.put(key, delivery).catch(() => post(place, { ...delivery, key, action: null }, lifetime.signal()))
  }

  const post = (place: Place, message: Outgoing, signal: AbortSignal) => sending.post(place, message, drafts, signal)

  function saveSelf(now: Self): void {
    self = now
    memory.put('self', JSON.stringify(now))
  }

  function ready(resumed: boolean, shard: number): void {
    const share = self ? shareOf(self, shard) : { guilds: 0, shard: null }
    emit({ type: 'chat-ready', chat: name, bot: self?.name ?? '', ...share, resumed })
    // Once for all connections.
    if (shard !== 0) return
    void sending.removeLeftDrafts()
    if (!self) return
    const definitions = definitionsOf(commands.list, commands.completes)
    void registerCommands({ rest, memory, clock, trouble }, self.app, definitions, lifetime.signal())
  }

  async function typing({ conversation }: Place, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await api.channels.showTyping(await threads.channelOf(conversation))
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

    async run(sink, signal) {
      await lifetime.run(sink, signal, connection.run).finally(saveNow)
    },
  }
}
