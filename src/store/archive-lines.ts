// How one item of the lanes looks in the archive: file name, JSON line and markdown paragraph.
import { createHash } from 'node:crypto'
import type { Delivery } from '../base/chat.ts'
import type { EventPayload, LaneKey, NewEvent } from '../base/event.ts'
import { twoDigits, type WallTime } from '../base/zone.ts'

export interface ArchiveRow {
  readonly id: number
  readonly queue: string
  readonly lane: LaneKey
  readonly key: string
  readonly state: string
  readonly body: string
  readonly at: number
}

/** One line of messages/<conversation>.jsonl. */
export interface ArchivedMessage {
  readonly at: string
  /** The platform's id of the message; an answer has the id of the message it answers. */
  readonly id: string
  readonly role: 'user' | 'agent' | Exclude<EventPayload['kind'], 'message' | 'command'>
  readonly who: string
  readonly text: string
  readonly state: 'answered' | 'failed' | 'refused'
  /** Workspace files that belong to the message. */
  readonly files?: readonly string[]
}

/** Null: not a message of a person or the agent, for example a notice. */
export function messageOf(row: ArchiveRow): ArchivedMessage | null {
  const at = new Date(row.at).toISOString()
  if (row.queue === 'in') {
    const { what } = JSON.parse(row.body) as NewEvent
    const id = 'id' in what ? what.id : row.key
    return { at, id, ...spoken(what), state: ends[row.state] ?? 'failed' }
  }
  const { kind, about, text, ok, files } = JSON.parse(row.body) as Delivery
  if (kind !== 'final') return null
  const delivered = ok && row.state !== 'failed'
  return {
    ...{ at, id: about ?? row.key, role: 'agent', who: 'agent', text, state: delivered ? 'answered' : 'failed' },
    ...(files && { files }),
  }
}

const ends: Readonly<Record<string, ArchivedMessage['state']>> = { done: 'answered', cancelled: 'refused' }

function spoken(what: EventPayload): Pick<ArchivedMessage, 'role' | 'who' | 'text' | 'files'> {
  switch (what.kind) {
    case 'message':
    case 'command': {
      const files = what.attachments?.filter(({ missing }) => missing === undefined).map(({ path }) => path) ?? []
      return { role: 'user', who: what.author.name, text: what.text, ...(files.length > 0 && { files }) }
    }
    case 'webhook':
      return { role: what.kind, who: what.name, text: `${what.instruction}\n\n${what.payload}` }
    case 'report':
      return { role: what.kind, who: what.name, text: what.text }
    case 'heartbeat':
    case 'cron':
    case 'hook':
    case 'assignment':
      return { role: what.kind, who: what.name, text: what.instruction }
    default:
      return what satisfies never
  }
}

/** `**Ada** 14:03`, and the text. The text cannot look like the start of the next message. */
export function paragraphOf({ role, who, text, state, files = [] }: ArchivedMessage, wall: WallTime): string {
  const name =
    who
      .replaceAll(/[\s*]+/g, ' ')
      .trim()
      .slice(0, 80) || role
  const shown = role === 'user' ? name : role === 'agent' ? 'Agent' : `${name} (${role})`
  const end = state === 'answered' ? '' : state === 'failed' ? ' (failed)' : ' (cancelled)'
  const words = text.trim().replaceAll(/^(?=\*\*.+\*\* \d\d:\d\d)/gm, '\\')
  const linked = files.map(path => `- ${path}\n`).join('')
  return `**${shown}** ${twoDigits(wall.hour)}:${twoDigits(wall.minute)}${end}\n\n${words === '' ? '' : `${words}\n`}${linked}\n`
}

export const dayOf = ({ year, month, day }: WallTime): string =>
  `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}`

/**
 * Two lanes never share a name, even on a file system that ignores case. Names that are not plain get a hash after a tilde, which no
 * plain name contains. A plain name contains no dot either, so that it cannot be mistaken for a rotated file.
 */
export function fileNameOf(lane: LaneKey): string {
  const [, chat, conversation] = /^([a-z0-9]+):([a-z0-9_][a-z0-9_-]{0,79})$/.exec(lane) ?? []
  if (chat !== undefined && conversation !== undefined) return `${chat}-${conversation}`
  const shown = lane
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60)
  return `${shown}~${createHash('sha256').update(lane).digest('hex').slice(0, 16)}`
}
