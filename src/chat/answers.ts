// Which of our messages answers what. Stored, so that a draft becomes the final and nothing is posted twice after a restart.
import type { ChatMemory } from '../base/chat.ts'

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
