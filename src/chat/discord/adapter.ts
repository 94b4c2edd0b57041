// Discord as a chat of the gateway.
import { API, GatewayIntentBits } from '@discordjs/core'
import { REST } from '@discordjs/rest'
import { type ChatAdapter, type ChatMemory, ChatUnusable, type Letter, type Outgoing } from '../../base/chat.ts'
import type { Attachment, Changed, EventSink, NewEvent, Place, Refused, Standing } from '../../base/event.ts'
import type { Tell } from '../../base/signal.ts'
import type { Chance, Clock } from '../../base/time.ts'
import { openAnswers, openAskedBook } from './answers.ts'
import { type AttachmentSeen, dropAttachments, fetchAttachments } from './attachments.ts'
import { type CommandShape, definitionsOf, hashOf } from './commands.ts'
import { openConnection } from './connection.ts'
import { openDispatches, recallSelf, type Self, shareOf } from './dispatches.ts'
import { editEveryMs, openDrafts } from './drafts.ts'
import { keyOf } from './heard.ts'
import { openRequests } from './http.ts'
import { openInteractions } from './interactions.ts'
import { openListening } from './listening.ts'
import { openMarks } from './marks.ts'
import { within } from './patience.ts'
import { openPlaces } from './places.ts'
import { limits } from './render.ts'
import { openSending } from './send.ts'
import { openThreads } from './threads.ts'
import { badToken, troubleOf } from './trouble.ts'

export interface DiscordParts {
  readonly token: string
  /** Where the API is, without the version. */
  readonly api: string
  /** Reads what does not mention us, too: an intent that must be switched on in Discord's portal. */
  readonly messageContent: boolean
  readonly opensThreads: boolean
  readonly catchUpMs: number
  readonly fileOver: number
  readonly workspace: string
  readonly commands: readonly CommandShape[]
  /** Commands whose rest can be completed. */
  readonly completes: readonly string[]
  suggest(command: string): readonly string[]
  readonly memory: ChatMemory
  readonly clock: Clock
  readonly chance: Chance
  readonly tell: Tell
  /** Edits (null: cancels) a waiting message. */
  change(key: string, event: NewEvent | null): Promise<Changed>
  /** Somebody who may speak. */
  knows(standing: Standing): boolean
  /** Puts a letter into the outbox. */
  write(key: string, letter: Letter): Promise<unknown>
  /** The letter with this key has left. */
  sent(letterKey: string): void
  /** A file of the workspace; null: it is not there, or may not be sent. */
  readFile(path: string): Promise<Uint8Array | null>
  /** Something failed that nobody waits for. */
  broke(error: unknown): void
}

/** For a request with all its files; one that stands still is given up much earlier. */
const requestMs = 300_000
/** Typing lasts ten seconds. */
const typingEveryMs = 8000
const saveEveryMs = 1000
/** What is still being dealt with when we leave gets this long; what is not done then is told again. */
const endingMs = 3000

const stopping: Refused = { type: 'refused', why: 'stopping', reason: 'Stopping: please try again in a minute.' }

export function openDiscord(parts: DiscordParts): ChatAdapter {
  const { memory, clock, tell } = parts
  const name = 'discord'
  // Whether and when something is tried again is for the outbox to say.
  const patience = { retries: 0, rejectOnRateLimit: () => true, timeout: requestMs }
  const rest = new REST({ api: parts.api, version: '10', ...patience, makeRequest: openRequests() }).setToken(
    parts.token,
  )
  const api = new API(rest)
  const refusedToken = Promise.withResolvers<never>()
  refusedToken.promise.catch(() => undefined)

  let self = recallSelf(memory)
  // A session that is gone on with does not tell who we are: without that, only a new one will do.
  if (self === null) for (const { name: session } of memory.list('session:')) memory.put(session, null)
  let sink: EventSink | null = null
  let life: AbortSignal = new AbortController().signal
  const underway = new Set<Promise<unknown>>()

  const ourId = () => self?.id ?? ''
  const trouble = (why: string) => tell({ type: 'chat-trouble', chat: name, why })
  const passing = (error: unknown) => trouble(troubleOf(error).why)
  const accept = async (event: NewEvent) => (sink ? sink(event) : stopping)
  const fetch = (message: string, files: readonly AttachmentSeen[]): Promise<readonly Attachment[]> =>
    fetchAttachments(message, files, parts, life)

  const marks = openMarks(memory)
  const places = openPlaces(api, ourId, clock, passing)
  const answers = openAnswers(memory)
  const asked = openAskedBook(memory, clock.now)
  const threads = openThreads(api, memory, marks.takePart)
  const sending = openSending({
    ...{ api, answers, asked, threads, ourId, readFile: parts.readFile, sent: parts.sent },
    refusedToken: () => refusedToken.reject(new ChatUnusable(badToken)),
  })
  const drafts = openDrafts({
    clock,
    write: sending.writeDraft,
    lost: (place, why) => tell({ type: 'draft-lost', place, why }),
  })

  let saving = false
  const saveNow = () => {
    marks.save()
    connection.save()
  }
  /** What can be told again costs only time; it is written down now and then. */
  const save = (when: 'now' | 'soon') => {
    if (when === 'now') return saveNow()
    if (saving) return
    saving = true
    void clock.sleep(saveEveryMs, life).then(() => {
      saving = false
      saveNow()
    })
  }

  const listening = openListening({
    ...{ api, clock, marks, places, threads, ourId, accept, fetch, save, trouble },
    ...{ workspace: parts.workspace, opensThreads: parts.opensThreads, catchUpMs: parts.catchUpMs },
    ...{ change: parts.change, knows: parts.knows, broke: parts.broke },
    explain,
    catchingUp: count => tell({ type: 'chat-catching-up', chat: name, places: count }),
    caughtUp: messages => tell({ type: 'chat-caught-up', chat: name, messages }),
  })
  const onInteraction = openInteractions({
    ...{ api, asked, clock, accept, fetch, trouble, learn: places.learnChannel, spot: places.spot },
    ...{ knows: parts.knows, suggest: parts.suggest, isConversation: threads.has },
    drop: message => dropAttachments(message, parts.workspace),
  })
  const heed = openDispatches({
    ...{ clock, marks, places, listening, keepSelf, ready, self: () => self, life: () => life },
    async interaction(one) {
      await onInteraction(one).catch(parts.broke)
      save('now')
    },
  })
  const intents =
    GatewayIntentBits.Guilds |
    GatewayIntentBits.GuildMessages |
    GatewayIntentBits.DirectMessages |
    (parts.messageContent ? GatewayIntentBits.MessageContent : 0)
  const connection = openConnection({
    ...{ rest, token: parts.token, intents, memory, clock, chance: parts.chance, tell },
    heed(event) {
      // What breaks us once would do so again: it is told, and not asked for any more.
      const heeding = heed(event).catch((error: unknown) => {
        parts.broke(error)
        return true
      })
      const over = () => void underway.delete(heeding)
      underway.add(heeding)
      heeding.then(over, over)
      return heeding
    },
    progressed: () => save('soon'),
  })

  /** By way of the outbox, which keeps it until it has arrived; a disk that takes nothing leaves the direct way. */
  async function explain(channel: string, message: string, reason: string): Promise<void> {
    const place = { chat: name, conversation: channel }
    const letter: Letter = { place, kind: 'notice', about: message, text: reason, ok: false }
    const key = `${keyOf(message)}#refused`
    await parts.write(key, letter).catch(() => post(place, { ...letter, key, action: null }, life))
  }

  const post = (place: Place, message: Outgoing, signal: AbortSignal) => sending.post(place, message, drafts, signal)

  function keepSelf(now: Self): void {
    self = now
    memory.put('self', JSON.stringify(now))
  }

  function ready(resumed: boolean, shard: number): void {
    const share = self ? shareOf(self, shard) : { guilds: 0, shard: null }
    tell({ type: 'chat-ready', chat: name, bot: self?.name ?? '', ...share, resumed })
    // For all connections together.
    if (self && shard === 0) void registerCommands(self.app)
  }

  async function registerCommands(app: string): Promise<void> {
    const definitions = definitionsOf(parts.commands, parts.completes)
    const hash = `${app} ${hashOf(definitions)}`
    for (let tries = 0; memory.get('commands') !== hash && !life.aborted; tries++) {
      try {
        await rest.put(`/applications/${app}/commands`, { body: definitions })
        memory.put('commands', hash)
      } catch (error) {
        const found = troubleOf(error)
        trouble(`the slash commands could not be registered: ${found.why}`)
        if (found.type !== 'passing') return
        await clock.sleep(Math.max(found.afterMs, Math.min(600_000, 1000 * 2 ** Math.min(tries, 10))), life)
      }
    }
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
    limits: { ...limits, editEveryMs, fileOver: parts.fileOver },

    async post(place, message, signal) {
      if (message.kind !== 'draft') return post(place, message, signal)
      drafts.show(place, message, signal)
      return { type: 'posted', ref: { place, id: message.about ?? '' } }
    },
    edit: async ({ place }, message, signal) => drafts.show(place, message, signal),
    typing,

    async run(given, signal) {
      const ending = new AbortController()
      sink = given
      life = AbortSignal.any([signal, ending.signal])
      const connected = connection.run(life)
      try {
        await Promise.race([connected, refusedToken.promise])
      } finally {
        sink = null
        ending.abort()
        await connected.catch(() => undefined)
        await within(Promise.allSettled(underway), endingMs, clock)
        saveNow()
      }
    },
  }
}
