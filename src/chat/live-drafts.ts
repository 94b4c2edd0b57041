// Live drafts: the answer so far, edited at the platform's pace, one edit at a time. Drafts may be lost.
import type { ChatMemory, Outgoing } from '../base/chat.ts'
import type { Place } from '../base/event.ts'
import { type Fence, fenceAfter } from '../base/fence.ts'
import type { Clock } from '../base/time.ts'

const lookEveryMs = 200
const idleMs = 3000

/** What a draft shows. */
export interface Doing {
  readonly text: string
  /** What the agent is doing; null: only writing. */
  readonly label: string | null
  readonly steps: number
}

export interface DraftParts {
  readonly clock: Clock
  /** The least time between two edits in this place. */
  everyMs(place: Place): number
  /** Blank: there is nothing to show. */
  render(doing: Doing, place: Place): string
  /** After an error: how long to wait at least; null: the draft is over. */
  trouble(error: unknown): { readonly afterMs: number | null; readonly why: string }
  /** Sets the text of the draft that answers `about`. */
  write(place: Place, about: string, key: string, content: string, doing: Doing): Promise<void>
  /** Shown if there is nothing else to show for three seconds; missing: the platform shows that somebody is typing. */
  readonly idleLabel?: string
  /** True while the draft would end up between the pieces of an earlier answer. */
  held(place: Place, about: string): boolean
  lost(place: Place, why: string): void
}

export interface Drafts {
  /** Returns immediately. Only the latest text is shown, when the next edit is due. */
  show(place: Place, message: Outgoing, signal: AbortSignal): void
  /** Resolves when no edit of the draft is in flight; none follows. */
  finish(about: string): Promise<void>
}

interface Draft {
  text: string
  label: string | null
  steps: number
  shown: string
  over: boolean
  /** The edit in flight. */
  writing: Promise<void>
  busy: boolean
}

export function createLiveDrafts(parts: DraftParts): Drafts {
  const { clock, everyMs, render, trouble, write, held, lost, idleLabel } = parts
  const drafts = new Map<string, Draft>()

  const blank = (): Draft => ({
    ...{ text: '', label: null, steps: 0, shown: '' },
    ...{ over: false, busy: false, writing: Promise.resolve() },
  })

  /** Runs while there is something new, one edit per pause. */
  async function keepShowing(draft: Draft, place: Place, about: string, key: string, signal: AbortSignal) {
    draft.busy = true
    while (!draft.over && !signal.aborted) {
      const content = render(draft, place)
      if (content === '' || content === draft.shown) break
      if (held(place, about)) {
        await clock.sleep(lookEveryMs, signal)
        continue
      }
      let pause = everyMs(place)
      const { text, label, steps } = draft
      draft.writing = write(place, about, key, content, { text, label, steps }).then(
        () => {
          draft.shown = content
        },
        error => {
          const { afterMs, why } = trouble(error)
          if (afterMs === null) draft.over = true
          else pause = Math.max(pause, afterMs)
          lost(place, why)
        },
      )
      await draft.writing
      await clock.sleep(pause, signal)
    }
    draft.busy = false
  }

  async function labelIdle(draft: Draft, place: Place, about: string, key: string, signal: AbortSignal) {
    await clock.sleep(idleMs, signal)
    if (idleLabel === undefined || signal.aborted || draft.over || render(draft, place) !== '') return
    draft.label = idleLabel
    if (!draft.busy) void keepShowing(draft, place, about, key, signal)
  }

  return {
    show(place, { about, key, text, action }, signal) {
      if (about === null) return
      const known = drafts.get(about)
      const draft = known ?? blank()
      drafts.set(about, draft)
      draft.text = text
      if (!known && idleLabel !== undefined) void labelIdle(draft, place, about, key, signal)
      if (text !== '' && draft.label === idleLabel) draft.label = null
      if (action?.phase === 'started') draft.steps++
      if (action) draft.label = action.phase === 'started' ? action.label : null
      if (!draft.busy && render(draft, place) !== '') void keepShowing(draft, place, about, key, signal)
    },
    async finish(about) {
      const draft = drafts.get(about)
      if (!draft) return
      drafts.delete(about)
      draft.over = true
      await draft.writing
    },
  }
}

// Which of our messages answers what. Stored, so that a draft becomes the final and nothing is posted twice after a restart.

/** A draft of ours. It may exist on the platform even if its id is unknown. */
export interface DraftNote {
  readonly channel: string
  /** Null: it is the answer of a command. */
  readonly nonce: string | null
  readonly id: string | null
}

export interface Claim {
  /** It is the first piece of the answer. */
  readonly first: boolean
  /** The existing draft, to be replaced. */
  readonly draft: DraftNote | null
}

export interface Answers {
  /** Called before and after the platform is asked to post it. */
  drafted(about: string, draft: DraftNote): void
  draftOf(about: string): DraftNote | null
  /** The first delivery that claims it starts the answer, however often it is retried; the others continue it. */
  claim(about: string, delivery: string): Claim
  /** The answer is posted elsewhere, so the draft, if there is one, must be removed. */
  leaveDraft(about: string): void
  /** Drafts that must be removed. */
  left(): readonly { readonly about: string; readonly draft: DraftNote }[]
  removed(about: string): void
}

interface StoredAnswer {
  readonly draft?: DraftNote
  readonly by?: string
}

export function openAnswers(memory: ChatMemory): Answers {
  const nameOf = (about: string) => `answer:${about}`
  const leftPrefix = 'left:'
  const stored = (about: string): StoredAnswer => JSON.parse(memory.get(nameOf(about)) ?? '{}') as StoredAnswer
  const store = (about: string, what: StoredAnswer) => memory.put(nameOf(about), JSON.stringify(what))
  return {
    drafted: (about, draft) => store(about, { ...stored(about), draft }),
    draftOf: about => stored(about).draft ?? null,
    claim(about, delivery) {
      const known = stored(about)
      if (known.by === undefined) store(about, { ...known, by: delivery })
      const first = (known.by ?? delivery) === delivery
      return { first, draft: first ? (known.draft ?? null) : null }
    },
    leaveDraft(about) {
      const { draft, ...others } = stored(about)
      if (!draft) return
      memory.put(`${leftPrefix}${about}`, JSON.stringify(draft))
      store(about, others)
    },
    left: () =>
      memory
        .list(leftPrefix)
        .map(({ name, value }) => ({ about: name.slice(leftPrefix.length), draft: JSON.parse(value) as DraftNote })),
    removed: about => memory.put(`${leftPrefix}${about}`, null),
  }
}

// Parts of a markdown text that stand alone, for drafts and for the beginning of a text that is sent as a file.

/** Links to workspace files do not work in a chat; the files are attached instead. */
export function withoutFileLinks(text: string, files: readonly string[]): string {
  if (files.length === 0) return text
  return text.replace(/!?\[([^[\]\n]*)\]\(([^()\n]+)\)/g, (link, label: string, between: string) => {
    const path = files.find(file => isSamePath(file, between.trim().replace(/^<|>$/g, '')))
    return path === undefined ? link : label.trim() || (path.split('/').at(-1) ?? path)
  })
}

function isSamePath(file: string, target: string): boolean {
  const given = target.replace(/^\.\//, '')
  // A guest's agent names files by their path in the guest's folder, guests/NAME/.
  const isNamed = (path: string) =>
    path === file || (file.startsWith('guests/') && file.split('/').slice(2).join('/') === path)
  try {
    return isNamed(given) || isNamed(decodeURIComponent(given))
  } catch {
    return false // A stray % is no encoding.
  }
}

/** The end of a text, with its code block opened again. */
export function endOf(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const from = text.length - room + 80
  const line = text.indexOf('\n', from)
  const cut = line >= 0 && line < from + room / 2 ? line + 1 : from
  const open = openFence(text.slice(0, cut))
  const tail = text.slice(/[\uDC00-\uDFFF]/.test(text.charAt(cut)) ? cut + 1 : cut)
  return closed(`…\n${open === null ? '' : `${open.line.slice(0, 30)}\n`}${tail}`)
}

/** The beginning of a text, with its code block closed. */
export function shortened(text: string, room: number): string {
  if (text.length <= room - closing.length) return closed(text)
  const piece = whole(text.slice(0, room - 10))
  const at = ['\n\n', '\n', ' '].map(gap => piece.lastIndexOf(gap)).find(found => found > room / 2)
  return `${closed(piece.slice(0, at ?? piece.length).trimEnd())}\n…`
}

/** Drops half a surrogate pair at the end. */
const whole = (text: string): string => (/[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text)

const closing = '\n```'

function closed(text: string): string {
  const open = openFence(text)
  return open === null ? text : `${text}\n${open.marks}`
}

/** The code block that is open at the end of the text. Most texts have none, and a draft is looked at with each word. */
const openFence = (text: string): Fence | null =>
  /`{3}|~{3}/.test(text) ? text.split('\n').reduce<Fence | null>((open, line) => fenceAfter(line, open), null) : null
