// Sends deliveries and drafts to Slack: as a new message, by editing one of ours, or to one person alone.
import type { FileScope, Outgoing } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import { type Answers, type Doing, type DraftNote, withoutFileLinks } from '../live-drafts.ts'
import { type Buttoned, createSender, createUnlessRefused, type Sender } from '../sender.ts'
import { createStopNotes } from '../stop-notes.ts'
import { SlackError, troubleOf } from './errors.ts'
import { isSlacks } from './hosts.ts'
import { targetOf } from './message.ts'
import type { OutgoingFile, Poster, Target } from './poster.ts'
import type { Questions } from './questions.ts'
import { actionsOf, beginningOf, type Content, contentOf, draftContent, limits, stopNoteContent } from './render.ts'
import type { Streams } from './streams.ts'
import type { Web } from './web.ts'

export interface SendingParts {
  readonly web: Web
  readonly api: string
  readonly answers: Answers
  readonly buttoned: Buttoned
  readonly questions: Questions
  readonly poster: Poster
  readonly streams: Streams
  /** A workspace file; null: it no longer exists, or may not be sent. */
  readFile(path: string, scope?: FileScope): Promise<Uint8Array | null>
  /** It has been sent: it would not be sent again even if we were killed now. */
  sent(deliveryKey: string): void
  refusedToken(): void
}

export interface Sending extends Sender {
  writeDraft(place: Place, about: string, key: string, doing: Doing): Promise<void>
  /** Only this person sees it. */
  privately(conversation: string, user: string, content: Content): Promise<void>
  /** Answers a command or button in its place; false: that is not possible (any more). */
  respond(id: string, content: Content): Promise<boolean>
}

const mostFiles = 10

export function createSending(parts: SendingParts): Sending {
  const { web, answers, buttoned, questions, poster, streams } = parts
  const stops = createStopNotes(answers, ({ conversation }, about, key) =>
    poster.create(targetOf(conversation), key, about, stopNoteContent(conversation)),
  )

  async function respond(id: string, { text, blocks }: Content): Promise<boolean> {
    const asked = questions.find(id)
    if (asked === null || !isSlacks(asked.url, parts.api) || !questions.use(id)) return false
    const type = { response_type: asked.privately ? 'ephemeral' : 'in_channel', replace_original: false }
    for (const shown of [
      { text, blocks },
      { text, mrkdwn: false },
    ]) {
      const answer = await web.request(asked.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...type, ...shown }),
        repeatable: false,
      })
      if (answer.status === 429 || answer.status >= 500) throw new SlackError('unavailable', answer.status)
      await answer.text()
      if (answer.ok) return true
      // Blocks that are refused are a 400; an address that has expired is not.
      if (answer.status !== 400) return false
    }
    return false
  }

  async function privately({ channel, thread }: Target, user: string, { text, blocks }: Content): Promise<void> {
    await web.call('chat.postEphemeral', { channel, thread_ts: thread, user, text, blocks })
  }

  /** A draft without a nonce is a stream, which has no metadata. */
  const isStream = ({ nonce }: DraftNote) => nonce === null

  const timestampOf = async ({ channel, nonce, id }: DraftNote, about: string): Promise<string | null> => {
    if (id !== null) return id
    const target = targetOf(channel)
    return nonce === null ? poster.findStream(target, about) : poster.find(target, nonce)
  }

  /** After a kill, a draft may exist whose timestamp was not stored. */
  async function located(about: string, draft: DraftNote): Promise<DraftNote> {
    const id = await timestampOf(draft, about)
    if (id === draft.id) return draft
    // Once it is edited, it cannot be found a second time.
    answers.drafted(about, { ...draft, id })
    return { ...draft, id }
  }

  /** Turns the draft into the answer. Null: there is no draft, or it cannot be edited and must be removed. */
  async function replaceDraft(draft: DraftNote, message: Outgoing, about: string, content: Content) {
    // During an outage, the answer does not wait to find out whether the draft exists.
    const { id: ts } = await located(about, draft).catch(() => ({ id: null }))
    const target = targetOf(draft.channel)
    if (ts !== null) {
      if (isStream(draft)) await streams.stop(target, ts)
      if (await unlessRefused(poster.update(target, ts, message.key, about, content))) return ts
    }
    answers.leaveDraft(about)
    return null
  }

  async function deliver(place: Place, message: Outgoing, content: Content, signal: AbortSignal): Promise<string> {
    const { about, key, kind } = message
    const target = targetOf(place.conversation)
    const earlier = buttoned.replacedBy(message)
    if (earlier && (await unlessRefused(poster.update(targetOf(earlier.channel), earlier.id, key, about, content))))
      return earlier.id
    const asked = about === null ? null : questions.find(about)
    if (about !== null && asked !== null) {
      if (await respond(about, content)) return about
      if (asked.privately) {
        await privately(target, asked.user, content)
        return about
      }
    }
    const author = kind === 'notice' && about !== null ? questions.privateFor(about) : null
    if (about !== null && author !== null) {
      await privately(target, author, content)
      return about
    }
    const claim = kind === 'final' && about !== null ? answers.claim(about, key) : { first: false, draft: null }
    const replaced = claim.draft && about !== null ? await replaceDraft(claim.draft, message, about, content) : null
    const id = replaced ?? (await poster.create(target, key, about, content, signal))
    buttoned.posted(message, { channel: place.conversation, id })
    return id
  }

  /** After the text, so that an answer never waits for its files. */
  async function deliverFiles(place: Place, message: Outgoing, files: readonly OutgoingFile[], signal: AbortSignal) {
    const target = targetOf(place.conversation)
    try {
      await poster.share(target, message.key, message.about, files, signal)
    } catch (error) {
      const trouble = troubleOf(error)
      if (trouble.type !== 'refused') throw error
      const names = files.map(({ name }) => name).join(', ')
      await poster.create(
        target,
        `${message.key}#unsent`,
        message.about,
        contentOf(`_Not sent: ${names} (${trouble.why})_`),
      )
    }
  }

  async function removeDraft(about: string, draft: DraftNote): Promise<void> {
    const ts = await timestampOf(draft, about)
    const target = targetOf(draft.channel)
    if (ts !== null) {
      if (isStream(draft)) await streams.stop(target, ts)
      const gone = await unlessRefused(web.call('chat.delete', { channel: target.channel, ts }))
      if (!gone) await unlessRefused(poster.update(target, ts, `${about}#left`, about, contentOf('…')))
    }
    answers.removed(about)
  }

  const sender = createSender({
    ...{ answers, stops, troubleOf, removeDraft, sent: parts.sent, refusedToken: parts.refusedToken },
    async deliver(place, message, signal) {
      const { text, files } = await bodyOf(message, parts.readFile)
      const plain = contentOf(text)
      const content = { ...plain, blocks: [...plain.blocks, ...actionsOf(message.buttons ?? [], place.conversation)] }
      const id = text === '' && files.length > 0 ? '' : await deliver(place, message, content, signal)
      if (files.length > 0) await deliverFiles(place, message, files, signal)
      return id
    },
  })

  return {
    ...sender,
    respond,
    privately: (conversation, user, content) => privately(targetOf(conversation), user, content),

    async writeDraft(place, about, key, doing) {
      // A command is answered in its place, once.
      if (sender.isOver() || questions.find(about) !== null) return
      const { conversation } = place
      const target = targetOf(conversation)
      const noted = answers.draftOf(about)
      const there = noted && (await located(about, noted))
      if (streams.canShow(target) && (there === null || isStream(there))) {
        // Until there is text, the status says what is going on.
        if (doing.text.trim() === '') {
          await streams.status(target, doing)
          return stops.drafted(place, about, key, doing)
        }
        const note = there ?? { channel: conversation, nonce: null, id: null }
        answers.drafted(about, note)
        const id = await streams.show(target, note.id, doing)
        if (id !== null) {
          answers.drafted(about, { ...note, id })
          return stops.drafted(place, about, key, doing)
        }
      }
      const content = draftContent(doing, conversation)
      const known = answers.draftOf(about)
      if (known !== null && known.id !== null) return poster.update(target, known.id, key, about, content)
      const draft = { channel: conversation, nonce: key, id: null }
      // Noted before it is posted: otherwise a kill in between would leave an unknown draft.
      answers.drafted(about, draft)
      answers.drafted(about, { ...draft, id: await poster.create(target, key, about, content) })
    },
  }
}

const unlessRefused = createUnlessRefused(troubleOf)

/** The text and its files; a text that is too long for a message becomes a file. */
async function bodyOf({ text, files: paths = [], scope, document }: Outgoing, readFile: SendingParts['readFile']) {
  const isLong = limits.measure(text) > limits.length
  const files: OutgoingFile[] = isLong ? [{ name: 'answer.md', data: Buffer.from(text) }] : []
  if (document) files.push({ name: document.name, data: Buffer.from(document.text) })
  const missing: string[] = []
  for (const path of paths) {
    const name = path.split('/').at(-1) ?? path
    const data = files.length < mostFiles ? await readFile(path, scope) : null
    if (data === null) missing.push(name)
    else files.push({ name, data })
  }
  const shown = isLong ? beginningOf(text) : withoutFileLinks(text, paths)
  const noted = missing.length === 0 ? shown : `${shown}\n_Not sent: ${missing.join(', ')}_`
  return { text: limits.measure(noted) <= limits.length ? noted : shown, files }
}
