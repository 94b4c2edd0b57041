// What a turn may touch, decided by whose words it runs on.
import { type LaneKey, type NewEvent, personOfAll, principalOf } from './event.ts'

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
  /** What its processes can reach; null: what this machine can reach. */
  readonly network: LimitedNetwork | null
}

/** The model, the gateway's tools, and what is listed here. */
export interface LimitedNetwork {
  /** Any public host of the web. */
  readonly web: boolean
  /** `host`, `*.host`, `host:port` or `address:port`. */
  readonly hosts: readonly string[]
  /** URLs of MCP servers. */
  readonly urls: readonly string[]
  /** The program that forwards to the gateway; null: Node. */
  readonly perl: string | null
}

/** Which wall stands for whom, for the owner. */
export interface WallView {
  readonly who: 'owner' | 'guests and webhooks'
  readonly wall: WallKind
  /** A sentence. */
  readonly detail: string
  /** What they can reach, a sentence. */
  readonly network: string
  readonly networkLimited: boolean
}

/** The turn runs on the words of somebody else than the owner, and there is a wall around it. */
export const isConfined = (profile: Profile | undefined): boolean =>
  profile !== undefined && profile.principal !== 'owner' && profile.wall !== 'none'

// The folder of the workspace that belongs to one guest: what their turns make is there, and only files from there are sent to them.

/**
 * Relative to the workspace. Different people never share one, also on file systems that ignore case. Several guests who are answered together
 * have another one, and turns on nobody's words, such as those of webhooks, have one for their lane.
 */
export function guestFolder(lane: LaneKey, persons: Iterable<string | null>): string {
  return `guests/${encoded(personOfAll(persons) || '') || `_lane.${encoded(lane)}`}`
}

/** The folder of a turn that answers these events; null: it is the owner's. */
export function guestFolderOf(events: readonly NewEvent[]): string | null {
  const guests = events.filter(event => !principalOf(event).owner)
  const [first] = guests
  return first
    ? guestFolder(
        first.lane,
        guests.map(event => principalOf(event).person),
      )
    : null
}

/** Lowercase letters, digits and dashes stay; every other character becomes `_` and its code. */
function encoded(id: string): string {
  const name = id.replace(/[^a-z0-9-]/gu, one => `_${(one.codePointAt(0) ?? 0).toString(16)}_`)
  return name.length <= 100 ? name : `${name.slice(0, 80)}.${checksum(id)}`
}

function checksum(text: string): string {
  let [a, b] = [0x811c9dc5, 0x1b873593]
  for (const byte of new TextEncoder().encode(text)) {
    a = Math.imul(a ^ byte, 0x01000193)
    b = Math.imul(b ^ byte, 0x85ebca6b)
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`
}
