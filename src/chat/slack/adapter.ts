// The chat adapter for Slack.
import { type ChatAdapter, ChatUnusable, type Delivery, type Outgoing } from '../../base/chat.ts'
import type { ChatContext } from '../../base/chat-module.ts'
import type { Place } from '../../base/event.ts'
import { createLiveDrafts, openAnswers } from '../live-drafts.ts'
import { createRequests } from '../requests.ts'
import { createLifetime, openButtoned, postOrDraft } from '../sender.ts'
import { createClicks } from './clicks.ts'
import { createDirectory } from './directory.ts'
import { downloadFiles, dropFiles } from './downloads.ts'
import { badBotToken, persist, troubleOf } from './errors.ts'
import { createEvents } from './events.ts'
import { createInbound } from './inbound.ts'
import { createInteractions } from './interactions.ts'
import { conversationOf, idOf, isDirect, keyOf, type MessageSeen, type Self, targetOf, threadOf } from './message.ts'
import type { SlackOptions } from './options.ts'
import { createPoster } from './poster.ts'
import { openProgress } from './progress.ts'
import { openQuestions } from './questions.ts'
import { limits, packed } from './render.ts'
import { createSending } from './send.ts'
import { createSocket, type Envelope } from './socket.ts'
import { createStreams } from './streams.ts'
import { createWeb } from './web.ts'

/** Slack allows about one message a second in a channel, and fifty edits a minute in all. */
const editEveryMs = 1500
const saveEveryMs = 1000

const nobody: Self = { id: '', bot: '', name: '', team: '', teamName: 'Slack' }

interface Identity {
  readonly user_id: string
  readonly bot_id?: string
  readonly user?: string
  readonly team_id: string
  readonly team?: string
}

export function openSlack(options: SlackOptions, context: ChatContext): ChatAdapter {
  const { workspace, commands, people, deliveries, memory, clock, emit } = context
  const { api } = options
  const name = 'slack'
  const request = createRequests()
  const web = createWeb(api, options.botToken ?? '', request)
  const lifetime = createLifetime(clock)
  const { accept } = lifetime

  let self = JSON.parse(memory.get('self') ?? 'null') as Self | null
  const us = () => self ?? nobody
  const trouble = (why: string) => emit({ type: 'chat-trouble', chat: name, why })

  const directory = createDirectory(web, error => trouble(`a name is unknown: ${troubleOf(error).why}`))
  const progress = openProgress(memory)
  const questions = openQuestions(memory, clock.now)
  const answers = openAnswers(memory)
  const streams = createStreams(web, clock)
  const poster = createPoster({ web, memory, clock, api, self: us })
  const sending = createSending({
    ...{ web, api, answers, questions, poster, streams, buttoned: openButtoned(memory) },
    ...{ readFile: workspace.readFile, sent: deliveries.sent },
    refusedToken: () => lifetime.giveUp(badBotToken),
  })
  /** When the next draft may be shown in a channel: its threads share the pace. */
  const nextDraft = new Map<string, number>()
  const drafts = createLiveDrafts({
    ...{ clock, everyMs: () => editEveryMs, render: packed },
    trouble(error) {
      const found = troubleOf(error)
      return { why: found.why, afterMs: found.type === 'passing' ? found.afterMs : null }
    },
    idleLabel: 'thinking…',
    write(place, about, key, _, doing) {
      if (nextDraft.size > 1000) nextDraft.clear()
      nextDraft.set(targetOf(place.conversation).channel, clock.now() + editEveryMs)
      return sending.writeDraft(place, about, key, doing)
    },
    held: ({ conversation }, about) =>
      (nextDraft.get(targetOf(conversation).channel) ?? 0) > clock.now() ||
      (answers.draftOf(about) === null && deliveries.isUnderway(conversation)),
    lost: (place, why) => emit({ type: 'draft-lost', place, why }),
  })

  let saving = false
  const save = (when: 'now' | 'soon') => {
    if (when === 'now') return progress.save()
    if (saving) return
    saving = true
    void clock.sleep(saveEveryMs, lifetime.signal()).then(() => {
      saving = false
      progress.save()
    })
  }

  const interactions = createInteractions({
    ...{ clock, commands, directory, questions, accept, trouble, self: us },
    ...{ respond: sending.respond, knows: people.knows },
  })
  const inbound = createInbound({
    ...{ web, clock, directory, progress, accept, trouble, save, explain, self: us },
    ...{ opensThreads: options.threads === 'auto', catchUpMs: options.catchupMaxAge },
    ...{ change: context.change, knows: people.knows, broke: context.broke, asCommand: interactions.asCommand },
    fetch: (message, files) => downloadFiles(message, files, { web, workspace: workspace.dir, api }, lifetime.signal()),
    drop: message => dropFiles(message, workspace.dir),
    catchingUp: places => emit({ type: 'chat-catching-up', chat: name, places }),
    caughtUp: messages => emit({ type: 'chat-caught-up', chat: name, messages }),
  })
  const clicks = createClicks({
    ...{ web, directory, trouble, self: us, privately: sending.privately, clicked: context.clicked },
  })
  const events = createEvents({
    ...{ inbound, interactions, clicks, directory },
    revoked: () => lifetime.giveUp(badBotToken),
  })
  const socket = createSocket({
    ...{ clock, chance: context.chance, trouble },
    web: createWeb(api, options.appToken ?? '', request),
    handle(envelope: Envelope) {
      return lifetime.handling(events(envelope), context.broke)
    },
    up(gap) {
      emit({ type: 'chat-ready', chat: name, bot: us().name, guilds: 1, resumed: !gap, shard: null })
      if (!gap) return
      void sending.removeLeftDrafts()
      void inbound.catchUp(lifetime.signal()).catch(error => lifetime.signal().aborted || context.broke(error))
    },
    lost: why => emit({ type: 'chat-lost', chat: name, why }),
  })

  /** Sent through the outbox, which keeps it until it has arrived; directly if it cannot be stored. */
  async function explain(message: MessageSeen, reason: string): Promise<void> {
    const { channel, ts, user = '' } = message
    const id = idOf(channel, ts)
    const place = { chat: name, conversation: conversationOf(channel, threadOf(message)) }
    const delivery: Delivery = { place, kind: 'notice', about: id, text: reason, ok: false }
    const key = `${keyOf(id)}#refused`
    // In a channel, a pairing code or a refusal is nobody else's business.
    if (!isDirect(channel)) questions.answerPrivately(id, user)
    await deliveries.put(key, delivery).catch(() => post(place, { ...delivery, key, action: null }, lifetime.signal()))
  }

  const post = (place: Place, message: Outgoing, signal: AbortSignal) => sending.post(place, message, drafts, signal)

  /** Who we are. Without an answer from Slack, as long as that takes. */
  async function identify(signal: AbortSignal): Promise<void> {
    const found = await persist(() => web.call<Identity>('auth.test', {}, signal), clock, signal, { passing: trouble })
    const { user_id: id, bot_id: bot = '', user = '', team_id: team, team: teamName = 'Slack' } = found
    self = { id, bot, name: user, team, teamName }
    memory.put('self', JSON.stringify(self))
  }

  async function connect(signal: AbortSignal): Promise<void> {
    try {
      await identify(signal)
    } catch (error) {
      if (signal.aborted) return
      const found = troubleOf(error)
      throw new ChatUnusable(found.type === 'token' ? badBotToken : `Slack: ${found.why}.`, { cause: error })
    }
    await socket.run(signal)
  }

  return {
    name,
    limits: { ...limits, editEveryMs, fileOver: options.fileOver, buttons: true },

    ...postOrDraft(drafts, post),
    typing: ({ conversation }, signal) => streams.keepStatus(targetOf(conversation), signal),

    async run(sink, signal) {
      await lifetime.run(sink, signal, connect).finally(progress.save)
    },
  }
}
