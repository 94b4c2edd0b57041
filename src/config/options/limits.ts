// Options about how much one message may cause: turns, sub-agents and messages, over everything that descends from it.
import { wholeNumber } from '../kinds.ts'
import { block, option } from './option.ts'

export const limits = block({
  'guest.turns_per_message': option({
    live: true,
    env: 'GUEST_TURNS_PER_MESSAGE',
    kind: wholeNumber(1, 100_000),
    default: 10,
    description:
      'Turns that one message of a guest, or one call of a webhook, may cause: its own, and those of all sub-agents that descend from it, with their reports.',
  }),
  'guest.turns_per_hour': option({
    live: true,
    env: 'GUEST_TURNS_PER_HOUR',
    kind: wholeNumber(0, 1_000_000),
    default: 60,
    description: 'Turns that all messages of one guest may cause in an hour, counted the same way. 0 means no limit.',
  }),
  'guest.subagents': option({
    live: true,
    env: 'GUEST_SUBAGENTS',
    kind: wholeNumber(0, 100),
    default: 2,
    description:
      'Sub-agents that one guest may have at a time. All guests and webhooks together leave two of the five places to the owner.',
  }),
  'guest.sends_per_message': option({
    live: true,
    env: 'GUEST_SENDS_PER_MESSAGE',
    kind: wholeNumber(0, 100_000),
    default: 10,
    description:
      'Messages that the agent may send or publish during the turns that one message of a guest causes. The answers themselves do not count.',
  }),
  'agent.turns_per_message': option({
    live: true,
    env: 'TURNS_PER_MESSAGE',
    kind: wholeNumber(1, 100_000),
    default: 100,
    description: 'The same as GUEST_TURNS_PER_MESSAGE, for messages of the owner, jobs and hooks.',
  }),
})
