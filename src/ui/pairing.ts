// The results of pairing decisions in words, for the command line and the API.
import { counted } from '../base/counted.ts'
import type { Approval, Denial, Person } from '../base/pairing.ts'

export function approvalInWords(approval: Approval): string {
  switch (approval.type) {
    case 'approved':
      return approval.owner
        ? `${calledBy(approval.person)} is an owner of this gateway now.`
        : `${calledBy(approval.person)} is a guest of this gateway now ("npx aetheel pair approve ${nameOf(approval.person)} --owner" makes them an owner).`
    case 'expired':
      return `This code has expired; it was for ${calledBy(approval.person)}. They get a new one when they write again.`
    case 'unknown':
      return 'There is no such code. "npx aetheel pair list" shows the open ones; each is valid for an hour.'
    case 'locked':
      return `Too many wrong codes: nothing is approved for the next ${minutes(approval.leftMs)}.`
    default:
      return approval satisfies never
  }
}

export const denialInWords = (denial: Denial): string =>
  denial.type === 'denied'
    ? `${calledBy(denial.person)} is denied (unless OWNERS or ALLOWED_USERS names them) and gets no more answers. "npx aetheel pair approve ${nameOf(denial.person)}" reverses this.`
    : 'There is no such code, and nobody of this name is known here. Write a user as "npx aetheel pair list" does, such as discord:1234. Users in OWNERS or ALLOWED_USERS can only be changed there.'

/** As accepted by `pair approve` and `pair deny`. */
export const nameOf = ({ chat, user }: Person): string => `${chat}:${user}`

export const calledBy = (person: Person): string =>
  person.name === '' ? nameOf(person) : `${person.name} (${nameOf(person)})`

export const minutes = (ms: number): string => {
  const n = Math.max(1, Math.ceil(ms / 60_000))
  return counted(n, 'minute')
}
