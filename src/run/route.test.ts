// Which backend answers: the choice of the conversation, the kind of event, the default, and then the fallbacks.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Backend, backendNames } from '../base/agent.ts'
import type { ModelOverride } from '../base/event.ts'
import { createRoutes, type RouteParts } from './route.ts'

const backend = (name: string): Backend => ({
  name,
  takesSessionIds: true,
  check: async () => ({ ok: true, detail: '' }),
  async *run() {},
  ignores: () => [],
  prepare: async () => undefined,
})
const opened = new Map(backendNames.map(name => [name as string, backend(name)]))
const nothing: ModelOverride = { backend: null, model: null }

interface Given {
  readonly models?: ReturnType<RouteParts['models']>
  readonly fallback?: readonly string[]
}

const routes = (given: Given = {}, choice = nothing) =>
  createRoutes({
    main: () => ({ backend: opened.get('claude')!, model: 'opus' }),
    models: () => given.models ?? {},
    fallback: () => given.fallback ?? [],
    named: name => opened.get(name) ?? null,
    choice: () => choice,
  })
const names = (list: readonly { backend: Backend; model: string | null }[]) =>
  list.map(({ backend: { name }, model }) => (model ? `${name}/${model}` : name))

test('the main backend with its model, unless the kind of event or the conversation says otherwise', () => {
  expect(names(routes()('l', 'message'))).toEqual(['claude/opus'])
  const models = {
    default: { backend: 'codex', model: null },
    cron: { backend: null, model: 'mini' },
    hook: { backend: 'pi', model: 'p' },
  }
  const route = routes({ models })
  expect(names(route('l', 'message'))).toEqual(['codex'])
  expect(names(route('l', 'cron'))).toEqual(['codex/mini'])
  expect(names(route('l', 'hook'))).toEqual(['pi/p'])
  expect(names(route('l', 'webhook'))).toEqual(['codex'])
  expect(names(routes({ models }, { backend: 'gemini', model: 'flash' })('l', 'cron'))).toEqual(['gemini/flash'])
  expect(names(routes({}, { backend: 'claude', model: 'haiku' })('l', 'message'))).toEqual(['claude/haiku'])
})

test('a model is never used with another backend', () => {
  expect(names(routes({}, { backend: 'codex', model: null })('l', 'message'))).toEqual(['codex'])
  expect(names(routes({ fallback: ['codex'] })('l', 'message'))).toEqual(['claude/opus', 'codex'])
})

test('for any configuration there is a candidate, each backend once, and the fallbacks in order', () => {
  const name = fc.constantFrom(...backendNames, 'gone')
  const modelOverride = fc.record({ backend: fc.option(name), model: fc.option(fc.string({ minLength: 1 })) })
  fc.assert(
    fc.property(
      fc.array(name),
      modelOverride,
      modelOverride,
      fc.constantFrom('message', 'cron', 'report'),
      (fallback, byDefault, choice, kind) => {
        const list = routes({ fallback, models: { default: byDefault } }, choice)('l', kind).map(
          one => one.backend.name,
        )
        expect(list.length).toBeGreaterThan(0)
        expect(new Set(list).size).toBe(list.length)
        const [first, ...rest] = list
        const expected = [...new Set(fallback)].filter(one => opened.has(one) && one !== first)
        expect(rest).toEqual(expected)
      },
    ),
    { numRuns: 200 },
  )
})
