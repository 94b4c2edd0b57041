// Facts, tasks and content items: small records in JSON files that people and the agent share.

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
  /** Its position in the column, smaller first; null: its creation time in ms since the epoch is used. */
  readonly order: number | null
  /** `2026-11-16`, or empty. */
  readonly due: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** A calendar day such as 2026-11-16, or empty. */
export const isDay = (text: string): boolean =>
  text === '' || (/^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true)

export const contentStates = ['new', 'reading', 'used', 'dropped'] as const
export type ContentState = (typeof contentStates)[number]

export interface ContentItem {
  readonly id: string
  readonly title: string
  /** As written: it may not be a URL at all. */
  readonly url: string
  /** For example article, video, post, idea. */
  readonly kind: string
  readonly summary: string
  readonly status: ContentState
  readonly tags: readonly string[]
  readonly createdAt: string
  readonly updatedAt: string
}

/** The fields of a record that callers may set. */
export type Fields<One> = Omit<One, 'id' | 'createdAt' | 'updatedAt'>

export type Revision<One> =
  | { readonly type: 'changed'; readonly item: One }
  /** Nothing was changed: somebody else changed it first. */
  | { readonly type: 'conflict'; readonly item: One }
  | { readonly type: 'gone' }

/** One file of records. Reads come from memory, also right after a write; the file is written within 300 ms. */
export interface Records<One extends { readonly id: string }> {
  list(): Promise<readonly One[]>
  add(record: Fields<One>): Promise<One>
  /** Only if the fields still have the values in `was`, or already have the new values. */
  change(id: string, change: Partial<Fields<One>>, was?: Partial<Fields<One>>): Promise<Revision<One>>
  /** Returns the removed record; null: there is none with this id. */
  remove(id: string): Promise<One | null>
  /** Restores a recently removed record with its id; null: it is no longer known. */
  restore(id: string): Promise<One | null>
}
