// What a turn may touch, decided by whose words it runs on.

export const walls = ['bwrap', 'flags', 'none'] as const
/** What holds a profile: the operating system, the flags of the CLI, or nothing. */
export type WallKind = (typeof walls)[number]

/** Goes to the backend with the turn. A turn without a profile may do what the gateway's user may. */
export interface Profile {
  readonly principal: 'owner' | 'guest' | 'webhook'
  /** Processes, homes and sessions of different names are kept apart. Usable as the name of a folder. */
  readonly name: string
  readonly wall: WallKind
  /** The bubblewrap program; empty with any other wall. */
  readonly box: string
  /** The home folder of its processes; null: that of the gateway's user. */
  readonly home: string | null
  /** False: it sees only what is listed here and what its program needs. True: it sees all files, except those that are hidden. */
  readonly seesAll: boolean
  readonly readable: readonly { readonly from: string; readonly at: string }[]
  readonly writable: readonly string[]
  readonly hidden: readonly string[]
  /** Names of variables it gets besides those that its CLI needs; null: everything that is configured. */
  readonly variables: readonly string[] | null
}

/** Which wall stands for whom, for the owner. */
export interface WallView {
  readonly who: 'owner' | 'guests and webhooks'
  readonly wall: WallKind
  /** A sentence. */
  readonly detail: string
}

/** The turn runs on the words of somebody else than the owner, and there is a wall around it. */
export const isConfined = (profile: Profile | undefined): boolean =>
  profile !== undefined && profile.principal !== 'owner' && profile.wall !== 'none'
