// A chat platform as the contract suite needs it, and what a chat gets from the gateway.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/app/system-clock.ts'
import type { ChatAdapter, Posted } from '../../../src/base/chat.ts'
import type { ChatContext } from '../../../src/base/chat-module.ts'
import type { Place } from '../../../src/base/event.ts'

/** A platform with one person on it. */
export interface Platform {
  readonly chat: ChatAdapter
  /** Resolves when the chat has reached it. */
  reached(): Promise<void>
  arrive(conversation: string): Promise<void>
  leave(conversation: string): Promise<void>
  /** What the tests call a conversation, as the platform does. */
  place(conversation: string): Place
  /** The id that the message has there. */
  say(conversation: string, text: string): string
  /** What becomes of a final where nobody is. */
  readonly nobodyThere: Posted['type']
  /** Finals that the person has seen, in order. */
  seen(conversation: string): readonly { about: string; text: string }[]
  close(): Promise<void>
}

/** The far side of nothing: everybody is known, nothing is stored for long. */
export async function contextForTests(): Promise<{ readonly context: ChatContext; remove(): Promise<void> }> {
  const workspace = await mkdtemp(join(tmpdir(), 'aetheel-contract-'))
  const kept = new Map<string, string>()
  const context: ChatContext = {
    ...{ clock: systemClock, chance: Math.random },
    workspace: { dir: workspace, readFile: async () => null },
    commands: { list: [], completes: [], suggest: () => [] },
    people: { knows: () => true, known: () => [] },
    deliveries: { put: async () => undefined, isUnderway: () => false, sent: () => undefined },
    memory: {
      get: name => kept.get(name) ?? null,
      put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
      list: prefix => [...kept].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ name, value })),
    },
    emit: () => undefined,
    change: async () => ({ changed: false, reason: 'too late' }),
    broke: error => {
      throw error
    },
  }
  return { context, remove: () => rm(workspace, { recursive: true, force: true }) }
}
