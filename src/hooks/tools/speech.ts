// send_message: the agent speaks in the middle of a turn, or somewhere else.
import { sayingKey } from '../../base/chat.ts'
import type { Place } from '../../base/event.ts'
import type { Caller, Tool } from '../../base/tools.ts'
import { done, openMarks, refused, tool } from './tool.ts'

export interface Speech {
  /** A place as people write it (`discord:123`); null: there is none of that name. */
  placeNamed(channel: string): Place | null
  /** Into the outbox. Resolves once it is on disk, with the files that cannot be sent; a key that is known says nothing again. */
  say(key: string, place: Place, text: string, files: readonly string[]): Promise<{ readonly left: readonly string[] }>
}

export function speechTools({ placeNamed, say }: Speech): readonly Tool[] {
  const mark = openMarks()

  const placeFor = (channel: string | undefined, { place, behalf }: Caller): Place | string => {
    const wanted = channel === undefined ? place : placeNamed(channel)
    if (!wanted)
      return channel === undefined
        ? 'This turn has no conversation of its own. Name a channel, such as discord:123.'
        : `There is no channel ${JSON.stringify(channel.slice(0, 80))}. Write it as chat:id, such as discord:123.`
    if (behalf.owner || (place && isSame(place, wanted))) return wanted
    return 'On the words of somebody who is not the owner you can write to their own conversation alone. Nothing was sent.'
  }

  return [
    tool({
      name: 'send_message',
      about:
        'Sends a chat message at once: on the way of a long turn, with files, or to another channel. Your final answer is sent anyway; do not repeat it here.',
      takes: {
        text: { type: 'string', about: 'markdown', required: true },
        channel: { type: 'string', about: 'such as discord:123; default: this conversation' },
        files: { type: 'strings', about: 'paths in the workspace' },
      },
      async call({ text, channel, files = [] }, caller) {
        const place = placeFor(channel, caller)
        if (typeof place === 'string') return refused(place)
        const key = sayingKey(caller.key, mark(caller, place.chat, place.conversation, text, ...files))
        const { left } = await say(key, place, text, files)
        if (left.length === 0) return done('On its way.')
        return done(`On its way, but without ${left.join(', ')}: only files of the workspace up to 10 MB can be sent.`)
      },
    }),
  ]
}

const isSame = (a: Place, b: Place) => a.chat === b.chat && a.conversation === b.conversation
