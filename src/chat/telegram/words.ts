// What Telegram's refusals mean, in words for people.
import { excerpt } from '../../base/scrub.ts'

const known: readonly (readonly [RegExp, string])[] = [
  [/chat not found/i, 'this chat does not exist, or I am not in it; a person must write to me first'],
  [/blocked by the user/i, 'this person has blocked me'],
  [/user is deactivated/i, 'this account was deleted'],
  [/kicked|not a member|bot was removed/i, 'I was removed from that group'],
  [/group chat was (deleted|deactivated)/i, 'the group was deleted'],
  [/can't initiate conversation/i, 'a person must write to me first'],
  [/thread not found|TOPIC_DELETED|TOPIC_CLOSED/i, 'the topic does not exist or is closed'],
  [/not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|need administrator/i, 'I may not write there'],
  [/message to (edit|delete) not found/i, 'the message was deleted'],
]

export const wordsFor = (description: string): string =>
  known.find(([pattern]) => pattern.test(description))?.[1] ??
  `Telegram refused it${description === '' ? '' : ` (${excerpt(description, 200)})`}`
