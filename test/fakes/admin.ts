// Fake admin APIs in memory, which record their calls.
import type { JobChange, Jobs, JobView } from '../../src/base/jobs.ts'
import type { ChangeResult, MemoryChange, MemoryHit, MemoryLog, MemorySearch } from '../../src/base/memory.ts'
import type { SessionsAdmin, SessionView } from '../../src/base/sessions.ts'

export const briefing: JobView = {
  kind: 'cron',
  name: 'briefing',
  when: { type: 'cron', expression: '0 9 * * 1-5' },
  instruction: 'Tell me what is on.',
  zone: 'Europe/Berlin',
  channel: 'discord:7',
  model: null,
  missed: 'skip',
  paused: false,
  skipIf: null,
  words: 'every weekday at 09:00',
  next: [Date.UTC(2026, 10, 17, 8), Date.UTC(2026, 10, 18, 8), Date.UTC(2026, 10, 19, 8)],
  last: Date.UTC(2026, 10, 16, 8),
  answersTo: 'discord:7',
}

export const kitchen: SessionView = {
  lane: 'webchat:kitchen',
  backend: 'claude',
  session: '7f1c',
  updatedAt: Date.UTC(2026, 10, 16, 8),
  unanswered: 1,
}

export const hit: MemoryHit = {
  source: 'notes/trip.md',
  title: 'Trip',
  snippet: 'the **train** leaves at nine',
  at: Date.UTC(2026, 10, 1),
}

export const learnt: MemoryChange = {
  id: 7,
  at: Date.UTC(2026, 10, 16, 8),
  file: 'memory.md',
  events: [3],
  lane: 'discord:7',
  person: 'discord:66',
  owner: false,
  state: 'waiting',
  diff: '@@ -1 +1,2 @@\n Likes tea.\n-Has a cat.\n+Has two cats.',
}

/** Knows the job `briefing`, the session of the kitchen and the change 7; refuses all others. */
export function recordingAdmin() {
  const asked: unknown[] = []
  const job = (what: string, name: string, ...more: unknown[]): JobChange => {
    asked.push([what, name, ...more])
    return name === 'briefing' ? { ok: true, job: briefing } : { ok: false, why: `There is no job called "${name}".` }
  }
  const change = (what: string, id: number | null, state: MemoryChange['state']): ChangeResult => {
    asked.push([what, id])
    if (id !== null && id !== 7) return { ok: false, why: `There is no change ${id}.` }
    return { ok: true, change: { ...learnt, state } }
  }
  const jobs: Jobs = {
    list: async () => ({ jobs: [briefing], troubles: [{ file: 'agents.md', name: 'broken', why: 'no schedule' }] }),
    async add(wanted) {
      asked.push(['add', wanted])
      if (wanted.schedule === 'sometimes') return { ok: false, why: 'Say when, such as "every 30 minutes".' }
      return { ok: true, job: { ...briefing, name: wanted.name } }
    },
    pause: async (name, paused) => job('pause', name, paused),
    remove: async name => job('remove', name),
    run: async name => job('run', name),
  }
  const sessions: SessionsAdmin = {
    list: async () => ({ sessions: [kitchen], conversations: 1, next: null }),
    async clear(which) {
      asked.push(['clear', which])
      if (which === 'stale') return { ok: true, lanes: [] }
      return which === 'all' || which === kitchen.lane
        ? { ok: true, lanes: [kitchen.lane] }
        : { ok: false, why: 'No such conversation has a session.' }
    },
  }
  const memory: MemorySearch & MemoryLog = {
    async search(query, most) {
      asked.push(['search', query, most])
      return query.includes('train') ? [hit] : []
    },
    sync: async () => ({ documents: 12, changed: 1 }),
    async list(most) {
      asked.push(['log', most])
      return [learnt]
    },
    undo: async id => change('undo', id, 'undone'),
    approve: async id => change('approve', id, 'approved'),
    deny: async id => change('deny', id, 'denied'),
  }
  return { asked, jobs, sessions, memory }
}
