// Who wrote a message: a line of ours above it that nothing in the message, and no name, can pass for.
import type { Author, Standing } from '../base/event.ts'
import { label } from '../base/label.ts'

export interface Sender {
  readonly author: Author
  readonly standing: Standing
}

/** `[From Ada (discord user 1234), not the owner, in #general of Our Server]` */
export const senderLine = (sender: Sender): string => `[From ${describeSender(sender)}, in ${placeOf(sender.standing)}]`

/** `Ada (discord user 1234), not the owner`. The parentheses and commas are ours alone: no label has any. */
export const describeSender = ({ author, standing }: Sender): string => {
  const name = label(author.name) || 'somebody'
  const id = label(standing.user, 100) || 'unknown'
  return `${name} (${label(standing.chat) || 'chat'} user ${id}), ${author.owner ? 'the owner' : 'not the owner'}`
}

const placeOf = ({ where, guild, channel }: Standing): string =>
  label(where, 100) || (guild === null ? 'a direct message' : `channel ${label(channel, 100)}`)

const lines = /[^\n\r\v\f\u0085\u2028\u2029]+/g
/** Every opening bracket of Unicode but the round one. */
const opening = /[^\P{Ps}(]/gu
const ourWords = /^(?:from|gateway|message|attached)(?![\p{L}\p{N}])/iu

/** A text in which no line reads like one of the gateway's: their brackets become round. */
export const defused = (text: string): string =>
  text.replace(lines, line => (posesAsOurs(line) ? line.replace(opening, '(') : line))

/** Also in full width, with marks on the letters, invisible characters between them, or quoted. In linear time. */
const posesAsOurs = (line: string): boolean => {
  if (line.search(opening) < 0) return false
  const plain = line.normalize('NFKD').replace(/[\p{M}\p{C}]/gu, '')
  const [lead = ''] = /^[^\p{L}\p{N}]*/u.exec(plain) ?? []
  return lead.search(opening) >= 0 && ourWords.test(plain.slice(lead.length))
}
