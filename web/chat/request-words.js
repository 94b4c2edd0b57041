// Requests of the agent in words: what it asks, for whom, and what became of it.

/**
 * A request as the gateway sends it (docs/wire.md).
 * @typedef {{
 *   id: number, at: number, event: number, key: string, lane: string, source: string, backend: string, folder: string,
 *   person: string | null, owner: boolean, rule: string | null, ask: any,
 *   state: 'open' | 'allowed' | 'denied' | 'expired' | 'withdrawn',
 *   answeredBy: string | null, answeredAt: number | null, verdict: any, always: string | null,
 * }} Request
 */

const titles = {
  command: 'Run this command?',
  edit: 'Change this file?',
  read: 'Read this file?',
  search: 'Search for this?',
  fetch: 'Open this address?',
  todo: 'Change the to-do list?',
}

/** @param {Request} request */
export const titleOf = ({ ask }) => {
  if (ask.kind === 'question') return ask.questions.length === 1 ? 'A question for you' : 'Questions for you'
  if (ask.kind === 'plan') return 'Carry out this plan?'
  return titles[ask.use.work.kind] ?? `Use ${ask.use.tool}?`
}

/** On one line: the command, the file, the question. @param {Request} request */
export const gistOf = ({ ask }) => {
  if (ask.kind === 'question') return ask.questions.map(({ question }) => question).join(' ')
  if (ask.kind === 'plan') return ask.plan.trim().split('\n')[0]
  const { work } = ask.use
  return work.command ?? work.path ?? work.query ?? work.url ?? work.input ?? ''
}

/** @param {Request} request */
export const toolOf = ({ ask }) => (ask.kind === 'tool' ? ask.use.tool : ask.kind)

/** On whose words the turn runs. @param {Request} request */
export const forWhom = ({ owner, person, source }) => {
  if (owner) return 'you'
  return person === null ? `${source} (no person)` : `${person} (guest)`
}

export const scopes = { conversation: 'In this conversation', project: 'In this project', everywhere: 'Everywhere' }

const outcomes = {
  tool: { allowed: 'Allowed once', denied: 'Denied' },
  question: { allowed: 'Answered', denied: 'Not answered' },
  plan: { allowed: 'Approved', denied: 'Kept planning' },
}
const others = { expired: 'Expired, nobody answered', withdrawn: 'Not needed any more' }

/** `Allowed once by owner`. @param {Request} request */
export const outcomeOf = ({ ask, state, always, answeredBy }) => {
  const how =
    always === null ? (outcomes[ask.kind][state] ?? others[state]) : `Always allowed ${scopes[always].toLowerCase()}`
  return answeredBy === null ? how : `${how} by ${answeredBy}`
}

/** What the gateway puts before the words of a person. */
const preface = /^The user does not allow this(?:: |\.$)/

/** The words of the person who denied it; empty if there are none. @param {Request} request */
export const reasonOf = ({ verdict, state }) =>
  state === 'denied' && verdict?.allow === false ? verdict.message.replace(preface, '') : ''

/** The id of the message whose turn asks; null: it is no message of this conversation. @param {Request} request */
export const messageOf = ({ key, lane }, conversation) =>
  lane === `webchat:${conversation}` && key.startsWith(`${lane}:`) ? key.slice(lane.length + 1) : null
