// Which of our messages answers what: known over a restart, so that a draft becomes the final and nothing is said twice.
import type { ChatMemory } from '../../base/chat.ts'

export interface Claim {
  /** It is the beginning of the answer, and not a further piece of it. */
  readonly first: boolean
  /** The draft that stands there, to be replaced. */
  readonly draft: string | null
}

export interface Answers {
  drafted(about: string, message: string): void
  draftOf(about: string): string | null
  /** The first letter that asks begins the answer, as often as it is tried; all others go on with it. */
  claim(about: string, letter: string): Claim
}

interface Kept {
  readonly message?: string
  readonly by?: string
}

export function openAnswers(memory: ChatMemory): Answers {
  const nameOf = (about: string) => `answer:${about}`
  const kept = (about: string): Kept => JSON.parse(memory.get(nameOf(about)) ?? '{}') as Kept
  const keep = (about: string, what: Kept) => memory.put(nameOf(about), JSON.stringify(what))
  return {
    drafted: (about, message) => keep(about, { ...kept(about), message }),
    draftOf: about => kept(about).message ?? null,
    claim(about, letter) {
      const known = kept(about)
      if (known.by === undefined) keep(about, { ...known, by: letter })
      const first = (known.by ?? letter) === letter
      return { first, draft: first ? (known.message ?? null) : null }
    },
  }
}

/** A command or a button that somebody used, as long as it can be answered in its own place. */
export interface Asked {
  readonly app: string
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly until: number
  /** Only whoever asked sees the answer. */
  readonly privately: boolean
}

export interface AskedBook {
  remember(id: string, asked: Asked): void
  forget(id: string): void
  /** Null: it was no command, or too long ago. Waits until Discord knows that we have heard it. */
  open(id: string): Promise<Asked | null>
  /** Answers wait for this. */
  acknowledging(id: string, done: Promise<unknown>): void
}

export function openAskedBook(memory: ChatMemory, now: () => number): AskedBook {
  const nameOf = (id: string) => `asked:${id}`
  const underway = new Map<string, Promise<unknown>>()
  return {
    remember: (id, asked) => memory.put(nameOf(id), JSON.stringify(asked)),
    forget: id => memory.put(nameOf(id), null),
    async open(id) {
      await underway.get(id)
      const text = memory.get(nameOf(id))
      const asked = text === null ? null : (JSON.parse(text) as Asked)
      return asked && asked.until > now() ? asked : null
    },
    acknowledging(id, done) {
      underway.set(
        id,
        done.finally(() => underway.delete(id)),
      )
    },
  }
}
