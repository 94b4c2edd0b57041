// A chat platform as the contract suite needs it, and what a chat gets from the gateway.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/app/system-clock.ts'
import type { ChatAdapter, Click, ClickReply, FileScope, Posted } from '../../../src/base/chat.ts'
import type { ChatContext } from '../../../src/base/chat-module.ts'
import type { Place } from '../../../src/base/event.ts'

export interface FileRead {
  readonly path: string
  readonly scope: FileScope | undefined
}

/** What the person sees of buttons, and does with them. */
export interface PlatformButtons {
  /** Answers the clicks; set by the test. */
  readonly clicks: { handle(click: Click): Promise<ClickReply> }
  /** The latest message with buttons, and their ids. */
  shown(conversation: string): { readonly text: string; readonly ids: readonly string[] } | null
  click(conversation: string, id: string): Promise<void>
  /** Private answers to clicks, in order. */
  notes(): readonly string[]
  /** Whether the person is asked to write. */
  isAsked(conversation: string): boolean
  write(conversation: string, text: string): Promise<void>
  /** The next message is stored, but the bot does not learn of it. */
  loseAnswer(): void
}

/** A platform with one person on it. */
export interface Platform {
  readonly chat: ChatAdapter
  /** Resolves when the chat is connected. */
  reached(): Promise<void>
  arrive(conversation: string): Promise<void>
  leave(conversation: string): Promise<void>
  /** The platform's id of a conversation in the tests. */
  place(conversation: string): Place
  /** The message's id on the platform. */
  say(conversation: string, text: string): string
  /** The result of posting a final with nobody connected. */
  readonly nobodyThere: Posted['type']
  /** Finals shown to the person, in order. */
  seen(conversation: string): readonly { about: string; text: string }[]
  /** The files that the chat has read to send them. Null: it sends none. */
  readonly filesRead: readonly FileRead[] | null
  /** Null: it has no buttons. */
  readonly buttons: PlatformButtons | null
  close(): Promise<void>
}

/** Everybody is known, and nothing outlives the test. */
export async function contextForTests(): Promise<{
  readonly context: ChatContext
  readonly filesRead: readonly FileRead[]
  readonly clicks: PlatformButtons['clicks']
  remove(): Promise<void>
}> {
  const workspace = await mkdtemp(join(tmpdir(), 'aetheel-contract-'))
  const filesRead: FileRead[] = []
  const kept = new Map<string, string>()
  const readFile = async (path: string, scope?: FileScope) => {
    filesRead.push({ path, scope })
    return Buffer.from('content')
  }
  const clicks: PlatformButtons['clicks'] = { handle: async () => ({ type: 'done' }) }
  const context: ChatContext = {
    ...{ clock: systemClock, chance: Math.random },
    workspace: { dir: workspace, readFile },
    commands: { list: [], completes: [], suggest: () => [] },
    people: { knows: () => true, known: () => [] },
    deliveries: { put: async () => undefined, isUnderway: () => false, sent: () => undefined },
    memory: {
      get: name => kept.get(name) ?? null,
      put: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
      list: prefix => [...kept].filter(([name]) => name.startsWith(prefix)).map(([name, value]) => ({ name, value })),
    },
    emit: () => undefined,
    clicked: click => clicks.handle(click),
    change: async () => ({ changed: false, reason: 'too late' }),
    broke: error => {
      throw error
    },
  }
  return { context, filesRead, clicks, remove: () => rm(workspace, { recursive: true, force: true }) }
}
