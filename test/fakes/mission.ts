// The data of Mission Control in memory, for tests of the HTTP server and its benchmark.

import type { ActivityEntry, EventView, MissionControl, RequestNews } from '../../src/base/activity.ts'
import type { EventWork } from '../../src/base/work.ts'

export interface FakeMission extends MissionControl {
  /** Adds an activity entry. */
  happen(text: string): ActivityEntry
  /** Reports a changed workspace file. */
  touch(file: string): void
  /** Reports that something was asked or answered. */
  asks(news: RequestNews): void
  followers(): number
  pulses(): number
}

export const someEvent: EventView = {
  ...{ id: 7, lane: 'webchat:home', kind: 'message', source: 'webchat', state: 'answered', at: 1, endedAt: 2 },
  ...{ attempts: 1, asked: 'hello', answer: 'hi', person: 'Ada', usage: null, actions: 2 },
  steps: [{ at: 1, what: 'queued', detail: 'webchat' }],
  prompt: { backend: 'claude', model: null, text: 'hello', system: 'You are Aetheel.' },
}

export const someWork: EventWork = {
  event: 7,
  items: [
    { kind: 'thought', at: 1, text: 'The tests come first.' },
    {
      ...{ kind: 'action', at: 1000, endedAt: 3500, ok: true, label: 'Run npm test' },
      use: { tool: 'Bash', work: { kind: 'command', command: 'npm test' } },
      result: { output: '12 passed', exit: 0 },
      asked: { state: 'allowed', by: 'Ada' },
    },
    {
      ...{ kind: 'action', at: 4000, endedAt: 4100, ok: false, label: 'Edit src/garden.ts' },
      use: { tool: 'Edit', work: { kind: 'edit', path: 'src/garden.ts', diff: '@@ -1 +1 @@\n-old\n+<b>new</b>\n' } },
      ...{ result: null, asked: null },
    },
    {
      ...{ kind: 'action', at: 4200, endedAt: 4200, ok: true, label: 'Plan', result: null, asked: null },
      use: {
        tool: 'TodoWrite',
        work: {
          kind: 'todo',
          items: [
            { text: 'Dig', state: 'done' },
            { text: 'Plant', state: 'open' },
          ],
        },
      },
    },
  ],
}

export function fakeMission(): FakeMission {
  const entries: ActivityEntry[] = []
  const followers = new Set<(entry: ActivityEntry) => void>()
  const readers = new Set<(file: string) => void>()
  const askedOf = new Set<(news: RequestNews) => void>()
  let pulses = 0
  let last: RequestNews = { open: 0, changed: null }
  return {
    activity: {
      list: async (before, most) =>
        entries
          .filter(({ id }) => before === null || id < before)
          .slice(-most)
          .reverse(),
      after: id => entries.filter(entry => entry.id > id).slice(-200),
      follow(listener) {
        followers.add(listener)
        return () => void followers.delete(listener)
      },
    },
    happen(text) {
      const entry: ActivityEntry = {
        ...{ id: entries.length + 1, at: 1000, type: 'event-accepted', level: 'info' },
        ...{ event: 7, lane: 'webchat:home', text },
      }
      entries.push(entry)
      for (const follower of followers) follower(entry)
      return entry
    },
    followFiles(listener) {
      readers.add(listener)
      return () => void readers.delete(listener)
    },
    touch(file) {
      for (const reader of readers) reader(file)
    },
    followRequests(listener) {
      askedOf.add(listener)
      return () => void askedOf.delete(listener)
    },
    requestNews: () => ({ ...last, changed: null }),
    asks(news) {
      last = news
      for (const one of askedOf) one(news)
    },
    followers: () => followers.size,
    pulses: () => pulses,
    pulse() {
      pulses++
      return { status: { ready: true }, running: [] }
    },
    overview: async () => ({
      ...{ status: { ready: true }, running: [], waiting: [], failures: [], next: [] },
      today: { turns: 1, failed: 0, costUsd: null, inputTokens: 2, outputTokens: 3 },
    }),
    event: id => (id === someEvent.id ? someEvent : null),
    work: event => (event === 8 ? { event, items: [] } : { ...someWork, event }),
    workOf: (_, message) => (message === 'gone' ? null : someWork),
    usage: async days => ({
      days: [
        {
          ...{
            day: '2026-11-16',
            channel: 'webchat:home',
            source: 'webchat',
            backend: 'claude',
            turns: days,
            failed: 0,
          },
          ...{ inputTokens: 1, outputTokens: 2, costUsd: null, spoke: 0, firstWordMs: null },
        },
      ],
      names: {},
    }),
  }
}
