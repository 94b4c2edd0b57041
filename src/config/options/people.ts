// Options about people: who may talk to the agent, and how much may be spent.
import { age, amounts, idList, money, wholeNumber } from '../kinds.ts'
import { block, option, optional } from './option.ts'

export const access = block({
  'owner.users': option({
    live: true,
    env: 'OWNERS',
    kind: idList,
    default: [],
    description:
      'User ids of the owners of this gateway, such as telegram:1234; ids without a chat are of Discord. Owners may do everything and have no limits.',
  }),
  'approvals.users': option({
    live: true,
    env: 'APPROVERS',
    kind: idList,
    default: [],
    description:
      'User ids of people who may answer requests for permission besides the owners. They cannot add rules that allow something for always.',
  }),
  'approvals.timeout': option({
    live: true,
    env: 'APPROVAL_TIMEOUT',
    kind: age(30 * 86_400_000),
    default: 86_400_000,
    description: 'A request for permission that nobody has answered after this time is denied.',
  }),
  'approvals.reminder': option({
    live: true,
    env: 'APPROVAL_REMINDER',
    kind: age(30 * 86_400_000),
    default: 1_800_000,
    description: 'A request for permission that nobody has answered after this time is shown once more.',
  }),
  'gate.users': option({
    live: true,
    env: 'ALLOWED_USERS',
    kind: idList,
    default: [],
    description: 'Users who may talk to the agent anywhere.',
  }),
  'gate.roles': option({
    live: true,
    env: 'ALLOWED_ROLES',
    kind: idList,
    default: [],
    description: 'Roles whose members may talk to the agent.',
  }),
  'gate.channels': option({
    live: true,
    env: 'ALLOWED_CHANNELS',
    kind: idList,
    default: [],
    description: 'Channels in which everybody may talk to the agent, including their threads.',
  }),
  'gate.guilds': option({
    live: true,
    env: 'ALLOWED_GUILDS',
    kind: idList,
    default: [],
    description: 'Servers (guilds) in which everybody may talk to the agent.',
  }),
  'gate.rate_limit': option({
    live: true,
    env: 'RATE_LIMIT',
    kind: wholeNumber(0, 100_000),
    default: 20,
    description: 'Messages per minute that one person may send. 0 means no limit. Owners have no limit.',
  }),
})

export const budget = block({
  'budget.daily_usd': optional({
    live: true,
    env: 'BUDGET_DAILY_USD',
    kind: money,
    description:
      'Maximum spending per day in US dollars. At four fifths of it, heartbeats and cron jobs pause. Above it, only the owner is answered. If unset, there is no limit.',
  }),
  'budget.daily_tokens': optional({
    live: true,
    env: 'BUDGET_DAILY_TOKENS',
    kind: wholeNumber(0, Number.MAX_SAFE_INTEGER),
    description: 'The same in tokens, for backends that do not report costs.',
  }),
  'budget.person_usd': optional({
    live: true,
    env: 'BUDGET_PERSON_USD',
    kind: money,
    description:
      'Maximum spending per day in US dollars for each person other than the owner. If unset, there is no limit.',
  }),
  'budget.source_usd': option({
    live: true,
    env: 'BUDGET_SOURCE_USD',
    kind: amounts,
    default: () => ({}),
    description:
      'Maximum spending per day in US dollars by source: webchat, discord, heartbeat, cron, webhook, hook, agent.',
  }),
})
