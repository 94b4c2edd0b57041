// `Model: codex` means the same everywhere it can be written: one table for all of them.
import fc from 'fast-check'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { backendNames } from '../../src/base/agent.ts'
import type { ModelOverride, NewEvent } from '../../src/base/event.ts'
import { formatModelOverride, parseModelOverride } from '../../src/base/model-override.ts'
import { eventOf } from '../../src/clock/roster.ts'
import { route } from '../../src/config/kinds.ts'
import { hookEvent, readHooks } from '../../src/hooks/lifecycle.ts'
import { createWebhooks } from '../../src/hooks/webhooks.ts'
import { type CommandParts, createCommands } from '../../src/intake/commands.ts'
import { assignment } from '../../src/run/subagents.ts'
import { recordingAdmin } from '../fakes/admin.ts'

const table: readonly (readonly [string, ModelOverride])[] = [
  ['codex', { backend: 'codex', model: null }],
  ['Codex', { backend: 'codex', model: null }],
  ['codex/gpt-5', { backend: 'codex', model: 'gpt-5' }],
  ['codex gpt-5', { backend: 'codex', model: 'gpt-5' }],
  ['claude/opus', { backend: 'claude', model: 'opus' }],
  ['claude-sdk', { backend: 'claude-sdk', model: null }],
  ['claude-opus-4', { backend: null, model: 'claude-opus-4' }],
  ['opus', { backend: null, model: 'opus' }],
  ['anthropic/claude', { backend: null, model: 'anthropic/claude' }],
  ['opencode/anthropic/claude', { backend: 'opencode', model: 'anthropic/claude' }],
  ['/codex', { backend: null, model: 'codex' }],
]

const nowhere = () => null
const emit = () => undefined

async function ofWebhook(written: string): Promise<ModelOverride | undefined> {
  let seen: NewEvent | null = null
  const { receive } = createWebhooks({
    read: async () => `## Webhooks\n### x\nInstruction: x\nSecret: S\nSignature: bearer\nModel: ${written}\n`,
    secret: () => 'a-secret',
    accept: async event => {
      seen = event
      return { type: 'accepted', id: 1, position: 0 }
    },
    placeOf: nowhere,
    emit,
    now: () => 0,
  })
  await receive('x', { authorization: 'Bearer a-secret' }, Buffer.from('{}'))
  return (seen as NewEvent | null)?.modelOverride
}

function ofHook(written: string): ModelOverride | undefined {
  const { startup } = readHooks(`## Hooks\n### startup\nInstruction: x\nModel: ${written}\n`).hooks
  return startup && hookEvent('startup', startup, 0, null).modelOverride
}

function ofJob(written: string): ModelOverride | undefined {
  const job = { kind: 'cron', name: 'x', instruction: 'x', model: written } as Parameters<typeof eventOf>[0]
  return eventOf(job, '0', null).modelOverride
}

function ofSubAgent(written: string): ModelOverride | undefined {
  const agent = { id: 'a', name: 'x', depth: 1, model: written } as Parameters<typeof assignment>[0]
  return assignment(agent, 'k', 'x', { lane: 'l', place: null }, { owner: true, person: null, origin: 'k' })
    .modelOverride
}

async function ofCommand(text: string): Promise<ModelOverride | undefined> {
  let chosen: ModelOverride | undefined
  const parts = {
    backends: backendNames,
    answering: () => ({ backend: 'gemini', model: null }),
    choose: async (_: string, choice: ModelOverride) => {
      chosen = choice
    },
    check: async () => ({ ok: true, detail: '' }),
    checkModel: async () => null,
    subagents: {},
    ...recordingAdmin(),
  } as unknown as CommandParts
  const heard = createCommands(parts).parse(text, 'l')
  if (heard.type === 'command')
    await heard.answer({ lane: 'l', author: { id: 'o', name: 'o', owner: true }, place: null, key: 'k' })
  return chosen
}

const setting = (written: string): ModelOverride => v.parse(route.schema, written)

test.each(table)('%s', async (written, modelOverride) => {
  expect(ofJob(written)).toEqual(modelOverride)
  expect(await ofWebhook(written)).toEqual(modelOverride)
  expect(ofHook(written)).toEqual(modelOverride)
  expect(ofSubAgent(written)).toEqual(modelOverride)
  expect(setting(written)).toEqual(modelOverride)
  // gemini answers the conversation, so a model without a backend is gemini's.
  expect(await ofCommand(`/model ${written}`)).toEqual({
    backend: modelOverride.backend ?? 'gemini',
    model: modelOverride.model,
  })
  if (modelOverride.backend !== null) expect(await ofCommand(`/backend ${written}`)).toEqual(modelOverride)
})

test('a model override is read back as it was written', () => {
  const names = fc.stringMatching(/^[\w./-]{1,30}$/)
  const models = fc.oneof(names, fc.constantFrom(...backendNames), fc.constantFrom('codex/x', '/x', 'pi'))
  fc.assert(
    fc.property(fc.option(fc.constantFrom(...backendNames)), fc.option(models), (backend, model) => {
      const read = parseModelOverride(formatModelOverride({ backend, model }))
      const plain = model?.replace(/^\/+/, '') || null
      expect({ ...read, model: read.model?.replace(/^\/+/, '') || null }).toEqual({ backend, model: plain })
    }),
  )
})
