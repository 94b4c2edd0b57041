// Requests of agents, as people see them.
import type { Decision, Request, RequestsAdmin } from '../../src/base/requests.ts'
import type { Question, Verdict } from '../../src/base/tool-use.ts'

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

/** Requests in memory. `changed` is called for each new one and each answer, as the gateway tells its clients. */
export const fakeRequests = (changed: (request: Request) => void) => {
  const all = new Map<number, Request>()
  const decisions: { readonly id: number; readonly decision: Decision }[] = []
  const put = (request: Request): Request => {
    all.set(request.id, request)
    changed(request)
    return request
  }
  return {
    put,
    decisions,
    list: (which, before = Number.MAX_SAFE_INTEGER) =>
      which === 'open'
        ? [...all.values()].filter(({ state }) => state === 'open')
        : [...all.values()].filter(({ id }) => id < before).sort((a, b) => b.id - a.id),
    find: id => all.get(id) ?? null,
    async decide(id, decision, by) {
      const request = all.get(id)
      if (!request) return { type: 'unknown' }
      if (request.state !== 'open') return { type: 'late', request }
      decisions.push({ id, decision })
      const verdict: Verdict = decision.allow
        ? { allow: true, ...(decision.answers && { answers: decision.answers }) }
        : {
            allow: false,
            message: `The user does not allow this${decision.message === '' ? '.' : `: ${decision.message}`}`,
          }
      const always = decision.allow ? (decision.always ?? null) : null
      const state = decision.allow ? 'allowed' : 'denied'
      return {
        type: 'answered',
        request: put({ ...request, state, always, verdict, answeredBy: by, answeredAt: Date.now() }),
      }
    },
  } satisfies RequestsAdmin & Record<string, unknown>
}

const question = (text: string, options: readonly string[], multiple = false): Question => ({
  ...{ question: text, header: 'Paint', multiple },
  options: options.map(label => ({ label, description: `${label}, as in the garden` })),
})

export const askedQuestions = (...questions: readonly Parameters<typeof question>[]): Request['ask'] => ({
  ...{ kind: 'question', questions: questions.map(given => question(...given)) },
})

export const askedEdit = (path: string, diff: string): Request['ask'] => ({
  ...{ kind: 'tool', use: { tool: 'Edit', work: { kind: 'edit', path, diff } } },
})

export const askedCommand = (command: string): Request['ask'] => ({
  ...{ kind: 'tool', use: { tool: 'Bash', work: { kind: 'command', command } } },
})
