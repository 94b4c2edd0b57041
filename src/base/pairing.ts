// Pairing: a stranger is shown a code, the owner approves it, and from then on they are known.

export interface Person {
  readonly chat: string
  readonly user: string
  /** Of their own choosing; made harmless. */
  readonly name: string
}

/** What the owner has decided about somebody. A guest may speak. */
export type Decision = 'owner' | 'guest' | 'denied'

export interface KnownPerson extends Person {
  readonly as: Decision
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** A stranger who holds a code. */
export interface PairingRequest extends Person {
  readonly code: string
  /** What people call the place in which they asked. */
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

/** Where the owner decides about strangers. */
export interface PairingDesk {
  list(): Promise<PairingList>
  /** By the code that they were shown; somebody about whom was decided before, by their user. */
  approve(code: string, owner: boolean): Promise<Approval>
  /** By a code or a user: not let in, not any more, and from then on not answered. */
  deny(whom: string): Promise<Denial>
}

/** Lists of ids, bare or as `chat:id`. */
export interface GateRules {
  readonly owners: readonly string[]
  readonly users: readonly string[]
  readonly roles: readonly string[]
  readonly channels: readonly string[]
  readonly guilds: readonly string[]
  /** Messages per minute and person; 0: as many as they like. The owner is not counted. */
  readonly perMinute: number
}
