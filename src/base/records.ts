// Facts of the brain, tasks of the board, and what was found to read: small records in JSON files that people and the agent share.

export interface Fact {
  readonly id: string
  readonly content: string
  readonly type: string
  readonly category: string
  readonly tags: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
}

export const taskStates = ['todo', 'doing', 'done'] as const
export type TaskState = (typeof taskStates)[number]

export interface BoardTask {
  readonly id: string
  readonly title: string
  readonly notes: string
  readonly status: TaskState
  /** Its place in the column, smaller first; null: as if it were when it was made, in ms since the epoch. */
  readonly order: number | null
  /** `2026-11-16`, or empty. */
  readonly due: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** A day of the calendar, such as 2026-11-16, or none. */
export const isDay = (text: string): boolean =>
  text === '' || (/^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true)

export const contentStates = ['new', 'reading', 'used', 'dropped'] as const
export type ContentState = (typeof contentStates)[number]

export interface ContentItem {
  readonly id: string
  readonly title: string
  /** As it was written: it may be no address at all. */
  readonly url: string
  /** Such as article, video, post, idea. */
  readonly kind: string
  readonly summary: string
  readonly status: ContentState
  readonly tags: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
}

/** What of a record is the writer's. */
export type Fields<One> = Omit<One, 'id' | 'createdAt' | 'updatedAt'>

export type Revision<One> =
  | { readonly type: 'changed'; readonly item: One }
  /** Nothing was changed: somebody else was faster. */
  | { readonly type: 'conflict'; readonly item: One }
  | { readonly type: 'gone' }

/** One file of records. Reads come from memory, also right after a write; the file follows within 300 ms. */
export interface Records<One extends { readonly id: string }> {
  list(): Promise<readonly One[]>
  add(record: Fields<One>): Promise<One>
  /** Only if the fields of `was` still are so, or already are what they shall be. */
  change(id: string, change: Partial<Fields<One>>, was?: Partial<Fields<One>>): Promise<Revision<One>>
  /** What it was at last; null: there is none with this id. */
  remove(id: string): Promise<One | null>
  /** Brings back one of those removed last, whole and under its id; null: it is not known any more. */
  restore(id: string): Promise<One | null>
}
