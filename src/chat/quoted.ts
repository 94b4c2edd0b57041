// What others wrote, in the message of somebody who replies to it or forwards it: quoted, so that it cannot pass for that person's own words.
import { label } from '../base/scrub.ts'

export const inReply = (whom: string, text: string): string => `[In reply to ${whom}]\n${quoted(text)}`

/** A person as `inReply` names them. Only the agent is `you`. */
export const namedInReply = (name: string): string => {
  const plain = label(name)
  return plain === '' || plain.toLowerCase() === 'you' ? 'somebody' : plain
}

export const forwarded = (text: string): string => `[Forwarded message]\n${quoted(text)}`

const quoted = (text: string): string =>
  text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map(line => `> ${line}`)
    .join('\n')
