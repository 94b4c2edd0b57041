// send_message: the agent sends a message during a turn, or to another place.
import type { FileScope } from '../base/chat.ts'
import type { DescentLimits } from '../base/descent.ts'
import { interimKey, type Place } from '../base/event.ts'
import type { Caller, Tool } from '../base/tools.ts'
import { createIdempotencyKeys, done, refused, tool } from './tool.ts'

export interface MessageSender {
  /** A place as people write it (`discord:123`). Null if there is none of that name. */
  placeNamed(channel: string): Place | null
  /** Why nothing can be sent there; null: it can. */
  objection(place: Place): Promise<string | null>
  /** Stores it in the outbox. Resolves once it is on disk, with the files that cannot be sent. A known key is not sent again. */
  say(
    key: string,
    place: Place,
    text: string,
    files: readonly string[],
    scope?: FileScope,
  ): Promise<{ readonly left: readonly string[] }>
  /** The files that this turn may send. Undefined: those of the owner. */
  scopeOf(caller: Pick<Caller, 'lane' | 'principal'>): FileScope | undefined
}

export function messageTools(
  { placeNamed, objection, say, scopeOf }: MessageSender,
  takeMessage: DescentLimits['takeMessage'],
): readonly Tool[] {
  const idempotencyKey = createIdempotencyKeys()

  const placeFor = (channel: string | undefined, { place, principal }: Caller): Place | string => {
    const wanted = channel === undefined ? place : placeNamed(channel)
    if (!wanted)
      return channel === undefined
        ? 'This turn has no conversation of its own. Name a channel, such as discord:123.'
        : `There is no channel ${JSON.stringify(channel.slice(0, 80))}. Write it as chat:id, such as discord:123.`
    if (principal.owner || (place && isSame(place, wanted))) return wanted
    return 'This turn is for somebody who is not the owner, so you can write to their own conversation only. Nothing was sent.'
  }

  return [
    tool({
      name: 'send_message',
      about:
        'Sends a message immediately: during a long turn, with files, or elsewhere. Your final answer is sent anyway.',
      takes: {
        text: { type: 'string', about: 'markdown', required: true },
        channel: { type: 'string', about: 'such as discord:123; default: here' },
        files: { type: 'strings', about: 'paths in the workspace' },
      },
      async call({ text, channel, files = [] }, caller) {
        const place = placeFor(channel, caller)
        if (typeof place === 'string') return refused(place)
        const why = channel === undefined ? null : await objection(place)
        if (why !== null) return refused(`${why} Nothing was sent.`)
        const limit = await takeMessage(caller.principal)
        if (limit !== null) return refused(`${limit} Nothing was sent.`)
        const key = interimKey(caller.key, idempotencyKey(caller, place.chat, place.conversation, text, ...files))
        const { left } = await say(key, place, text, files, scopeOf(caller))
        if (left.length === 0) return done('On its way.')
        const from = caller.principal.owner ? 'of the workspace' : 'that this conversation has made or was given'
        return done(`On its way, but without ${left.join(', ')}: only files ${from} up to 10 MB can be sent.`)
      },
    }),
  ]
}

const isSame = (a: Place, b: Place) => a.chat === b.chat && a.conversation === b.conversation
