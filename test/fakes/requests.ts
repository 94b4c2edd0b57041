// Requests of agents, as people see them.
import type { Request } from '../../src/base/requests.ts'

/** A shell command in the conversation `webchat:home`, not answered yet. */
export const someRequest = (changes: Partial<Request> = {}): Request => ({
  ...{ id: 1, lane: 'webchat:home', event: 7, key: 'webchat:home:m1', person: 'owner', owner: true, source: 'webchat' },
  ...{ backend: 'claude', folder: '/space/garden', rule: 'Bash(npm test:*)', lasting: false, at: 1000, state: 'open' },
  ask: { kind: 'tool', use: { tool: 'Bash', work: { kind: 'command', command: 'npm test -- --run' } } },
  place: { chat: 'webchat', conversation: 'home' },
  replyTo: { chat: 'webchat', conversation: 'home' },
  ...{ answeredBy: null, answeredAt: null, verdict: null, always: null },
  ...changes,
})

export const allowed = (request: Request, changes: Partial<Request> = {}): Request => ({
  ...request,
  ...{ state: 'allowed', answeredBy: 'owner', answeredAt: 2000, verdict: { allow: true } },
  ...changes,
})
