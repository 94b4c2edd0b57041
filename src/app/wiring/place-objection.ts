// Whether a channel that somebody names exists and can be written to, asked before anything is spent on it.
import type { PlaceCheck } from '../../base/chat-module.ts'
import { type Place, placeName } from '../../base/event.ts'
import { excerpt } from '../../base/scrub.ts'
import type { Config } from '../../config/index.ts'
import { chatNames, remoteChatsOn } from './chat-names.ts'

const patienceMs = 10_000

/** A sentence that says why nothing can be sent there; null: it can, or the platform cannot be asked now. */
export async function placeObjection(config: Config, place: Place): Promise<string | null> {
  const names = chatNames(config)
  if (!names.includes(place.chat))
    return `There is no chat "${excerpt(place.chat, 40)}" here. Write the channel like ${names[0]}:123.`
  const check = await checkPlace(config, place, new AbortController().signal)
  return check.type === 'refused' ? `Nothing can be sent to ${excerpt(placeName(place), 80)}: ${check.why}.` : null
}

/** For a place in a chat that is on. */
export async function checkPlace(config: Config, place: Place, signal: AbortSignal): Promise<PlaceCheck> {
  const chat = remoteChatsOn(config).find(({ name }) => name === place.chat)
  if (!chat) return { type: 'writable' }
  return chat.checkPlace(config, place.conversation, AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]))
}
