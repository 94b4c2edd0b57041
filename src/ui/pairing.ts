// What came of a decision about a stranger, in plain words: for the command line and the API.
import type { Approval, Denial, Person } from '../base/pairing.ts'

export function approvalInWords(approval: Approval): string {
  switch (approval.type) {
    case 'approved':
      return approval.owner
        ? `${calledBy(approval.person)} is an owner of this gateway now.`
        : `${calledBy(approval.person)} may speak now, as a guest ("npx aetheel pair approve ${nameOf(approval.person)} --owner" makes an owner of them).`
    case 'expired':
      return `This code has expired; it was for ${calledBy(approval.person)}. Once they write again they get a new one.`
    case 'unknown':
      return 'There is no such code. "npx aetheel pair list" shows those that are open; each is good for an hour.'
    case 'locked':
      return `Too many wrong codes: nothing is approved for the next ${minutes(approval.leftMs)}.`
    default:
      return approval satisfies never
  }
}

export const denialInWords = (denial: Denial): string =>
  denial.type === 'denied'
    ? `${calledBy(denial.person)} may not speak (unless OWNERS or ALLOWED_USERS names them) and gets no answer any more. "npx aetheel pair approve ${nameOf(denial.person)}" takes it back.`
    : 'There is no such code, and nobody of this name is known here. Write a user as "npx aetheel pair list" does, such as discord:1234; whom OWNERS or ALLOWED_USERS name is changed there.'

/** As they are named to `pair approve` and `pair deny`. */
export const nameOf = ({ chat, user }: Person): string => `${chat}:${user}`

export const calledBy = (person: Person): string =>
  person.name === '' ? nameOf(person) : `${person.name} (${nameOf(person)})`

export const minutes = (ms: number): string => {
  const n = Math.max(1, Math.ceil(ms / 60_000))
  return `${n} ${n === 1 ? 'minute' : 'minutes'}`
}
