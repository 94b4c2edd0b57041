// Facts of the brain and tasks of the board: small records in JSON files that people and the agent share.

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
  readonly createdAt: string
  readonly updatedAt: string
}

/** One file of records. Reads come from memory, also right after a write; the file follows within 300 ms. */
export interface Records<One extends { readonly id: string }> {
  list(): Promise<readonly One[]>
  add(record: Omit<One, 'id' | 'createdAt' | 'updatedAt'>): Promise<One>
  /** Null: there is none with this id. */
  change(id: string, change: Partial<Omit<One, 'id' | 'createdAt' | 'updatedAt'>>): Promise<One | null>
  remove(id: string): Promise<boolean>
}
