// The budget: jobs stop first, then guests; the daily limit never locks out the owner.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BudgetRules, Spent } from '../base/budget.ts'
import type { EventPayload, NewEvent } from '../base/event.ts'
import { createBudget } from './budget.ts'

const none: BudgetRules = { dailyUsd: null, dailyTokens: null, personUsd: null, sourceUsd: {} }
const nothing: Spent = { usd: 0, tokens: 0 }
const open = (rules: Partial<BudgetRules>, total: Partial<Spent>, of: Readonly<Record<string, number>> = {}) =>
  createBudget({
    rules: () => ({ ...none, ...rules }),
    spent: () => ({
      ...nothing,
      ...total,
      ofSource: name => ({ ...nothing, usd: of[name] ?? 0 }),
      ofPerson: name => ({ ...nothing, usd: of[name] ?? 0 }),
    }),
  })
const event = (what: EventPayload, source: string): NewEvent => ({ key: 'k', lane: 'l', what, replyTo: null, source })
const says = (id: string, owner: boolean) =>
  event({ kind: 'message', id: '1', text: 'x', author: { id, name: id, owner } }, 'discord')
const job = event({ kind: 'cron', name: 'x', instruction: 'x' }, 'cron')
const beat = event({ kind: 'heartbeat', name: 'x', instruction: 'x' }, 'heartbeat')
const hook = event({ kind: 'webhook', name: 'x', instruction: 'x', payload: '' }, 'webhook')

test('without limits nothing is ever refused', () => {
  const budget = open({}, { usd: 1e9, tokens: 1e12 })
  for (const one of [job, beat, hook, says('ada', false)]) expect(budget.objection(one)).toBeNull()
  expect(budget.view()).toBeNull()
})

test('jobs pause at 80 % of the budget, guests and webhooks at 100 %, the owner never', () => {
  const verdicts = (usd: number) => {
    const budget = open({ dailyUsd: 10 }, { usd })
    return [beat, job, hook, says('ada', false), says('me', true)].map(one => budget.objection(one))
  }
  expect(verdicts(7.9)).toEqual([null, null, null, null, null])
  expect(verdicts(8)).toEqual(['day', 'day', null, null, null])
  expect(verdicts(10)).toEqual(['day', 'day', 'day', 'day', null])
})

test('tokens count when the cost is unknown', () => {
  expect(open({ dailyTokens: 1000 }, { tokens: 900 }).objection(job)).toBe('day')
  expect(open({ dailyTokens: 1000 }, { tokens: 900 }).view()).toEqual({
    usd: null,
    tokens: { spent: 900, of: 1000 },
    level: 'paused',
  })
})

test('a source and a person have limits of their own', () => {
  const budget = open({ sourceUsd: { heartbeat: 1 }, personUsd: 2 }, {}, { heartbeat: 1, ada: 2, bob: 1.9 })
  expect(budget.objection(beat)).toBe('source')
  expect(budget.objection(job)).toBeNull()
  expect(budget.objection(says('ada', false))).toBe('person')
  expect(budget.objection(says('bob', false))).toBeNull()
  expect(budget.objection(says('ada', true))).toBeNull()
})

test('spending more never allows more', () => {
  const amounts = fc.double({ min: 0, max: 20, noNaN: true })
  fc.assert(
    fc.property(amounts, amounts, fc.constantFrom(beat, job, hook, says('ada', false)), (a, b, one) => {
      const refused = (usd: number) => open({ dailyUsd: 10 }, { usd }).objection(one) !== null
      if (refused(Math.min(a, b))) expect(refused(Math.max(a, b))).toBe(true)
    }),
    { numRuns: 200 },
  )
})
