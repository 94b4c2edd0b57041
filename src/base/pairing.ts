// Pairing: a stranger is shown a code; once the owner approves it, they may talk to the agent.

export interface Person {
  readonly chat: string
  readonly user: string
  /** Chosen by the person; sanitized. */
  readonly name: string
}

/** What the owner decided about a person. A guest may talk to the agent. */
export type Decision = 'owner' | 'guest' | 'denied'

export interface KnownPerson extends Person {
  readonly as: Decision
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** A stranger with a pending code. */
export interface PairingRequest extends Person {
  readonly code: string
  /** The name of the place where they wrote. */
  readonly where: string
  readonly leftMs: number
}

export interface PairingList {
  readonly requests: readonly PairingRequest[]
  readonly people: readonly KnownPerson[]
}

export type Approval =
  | { readonly type: 'approved'; readonly person: Person; readonly owner: boolean }
  | { readonly type: 'expired'; readonly person: Person }
  | { readonly type: 'unknown' }
  /** Too many wrong codes: nothing is approved for a while. */
  | { readonly type: 'locked'; readonly leftMs: number }

export type Denial = { readonly type: 'denied'; readonly person: Person } | { readonly type: 'unknown' }

/** The owner's decisions about strangers. */
export interface PairingAdmin {
  list(): Promise<PairingList>
  /** By the code they were shown; for a person with an earlier decision, by their user. */
  approve(code: string, owner: boolean): Promise<Approval>
  /** By code or user: the person is not approved (any more) and is not answered from then on. */
  deny(codeOrUser: string): Promise<Denial>
}

/** Lists of ids, with or without the chat: `id` or `chat:id`. */
export interface GateRules {
  readonly owners: readonly string[]
  readonly users: readonly string[]
  readonly roles: readonly string[]
  readonly channels: readonly string[]
  readonly guilds: readonly string[]
  /** Messages per minute and person; 0: no limit. Owners have no limit. */
  readonly perMinute: number
}
