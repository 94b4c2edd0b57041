// The folder of the workspace that belongs to one guest: what their turns make is there, and only files from there are sent to them.
import type { Principal } from './event.ts'

/** Different people never share one, also on file systems that ignore case. All webhooks share one. Ends without a slash. */
export const guestFolder = ({ person }: Pick<Principal, 'person'>): string =>
  `guests/${person === null ? '_webhooks' : encoded(person)}`

/** Lowercase letters, digits and dashes stay; every other character becomes `_` and its code. */
const encoded = (person: string): string => {
  const name = person.replace(/[^a-z0-9-]/gu, one => `_${(one.codePointAt(0) ?? 0).toString(16)}_`)
  return name === '' ? '_' : name
}
