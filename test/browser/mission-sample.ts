// Sample data for the tests of Mission Control.
import type { JobTrouble, JobView } from '../../src/base/jobs.ts'
import type { MemoryChange, MemoryHit } from '../../src/base/memory.ts'
import type { KnownPerson, PairingRequest } from '../../src/base/pairing.ts'
import type { SessionView } from '../../src/base/sessions.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

interface Entry {
  id: number
  at: number
  type: string
  level: string
  event: number | null
  lane: string | null
  text: string
}

const jobOf = (name: string, words: string, instruction: string, next: number[]): JobView => ({
  kind: 'cron',
  name,
  when: { type: 'cron', expression: '0 9 * * *' },
  instruction,
  zone: null,
  channel: null,
  model: null,
  missed: 'skip',
  paused: false,
  skipIf: null,
  words,
  next,
  last: null,
  answersTo: 'webchat:home',
})

const storyOf = (id: number, at: number) => ({
  id,
  lane: 'discord:kitchen',
  kind: 'message',
  source: 'discord',
  state: 'answered',
  at,
  endedAt: at + 14_300,
  attempts: 1,
  asked: 'How did the backup go, and is there room for another week?',
  answer: 'The last backup ran tonight at 03:00 and took 4 minutes.\nThere is room for about five more weeks.',
  person: 'Robin',
  actions: 3,
  steps: [
    { at, what: 'queued', detail: 'first in its conversation' },
    { at: at + 40, what: 'began', detail: 'claude, session 4f1c, prompt 1,284 characters, system prompt 9,310' },
    { at: at + 2_150, what: 'first word', detail: '' },
    { at: at + 3_900, what: 'tool', detail: 'Read: logs/backup.log' },
    { at: at + 7_400, what: 'tool', detail: 'Bash: df -h' },
    { at: at + 14_100, what: 'ended', detail: '412 characters' },
    { at: at + 14_300, what: 'sent', detail: 'one message' },
  ],
  prompt: {
    backend: 'claude',
    model: 'opus',
    text: '<message from="Robin" at="discord:kitchen">\nHow did the backup go, and is there room for another week?\n</message>',
    system: 'You are Aetheel, the assistant of this household.\n<script>alert(1)</script>',
  },
  usage: { inputTokens: 18_412, outputTokens: 326, costUsd: 0.043 },
})

const entriesOf = (now: number): Entry[] => {
  const kinds = [
    { type: 'turn-ended', text: 'Answered in 14 s', lane: 'discord:kitchen', event: 41 },
    { type: 'turn-began', text: 'A turn began with claude', lane: 'discord:kitchen', event: 41 },
    { type: 'queued', text: 'A message came from Robin', lane: 'discord:kitchen', event: 41 },
    { type: 'job-fired', text: 'The job “morning news” ran', lane: 'cron:morning news', event: 40 },
    { type: 'memory-changed', text: 'memory.md was changed: 2 lines more', lane: 'webchat:desk', event: 39 },
    { type: 'delivery-sent', text: 'An answer was sent', lane: 'webchat:desk', event: 39 },
  ]
  const entries = Array.from({ length: 118 }, (_, place) => ({
    ...kinds[place % kinds.length]!,
    id: 500 - place,
    at: now - 30_000 - place * 11 * minute,
    level: 'info',
  }))
  Object.assign(entries[4]!, {
    type: 'turn-failed',
    level: 'warn',
    event: 38,
    lane: 'cron:check the site',
    text: 'A turn failed: the usage limit of claude is reached until 14:00',
  })
  Object.assign(entries[9]!, {
    level: 'warn',
    event: null,
    lane: null,
    text: 'The connection to Discord was lost, and is back',
  })
  return entries
}

const usageOf = (now: number) =>
  Array.from({ length: 24 }, (_, ago) => ago).flatMap(ago => {
    const wave = 1 + Math.sin(ago * 1.3) * 0.5 + (ago % 7 === 2 ? 0.8 : 0)
    const here = new Date(now - ago * day)
    const name = [here.getFullYear(), here.getMonth() + 1, here.getDate()]
      .map(one => String(one).padStart(2, '0'))
      .join('-')
    const line = (channel: string, backend: string, turns: number, costs: boolean) => ({
      day: name,
      channel,
      source: channel.slice(0, channel.indexOf(':')),
      backend,
      turns: Math.round(turns * wave),
      failed: (ago + turns) % 9 === 0 ? 2 : 0,
      inputTokens: Math.round(turns * wave * 16_000),
      outputTokens: Math.round(turns * wave * 1_450),
      costUsd: costs ? turns * wave * 0.041 : null,
      spoke: Math.round(turns * wave),
      firstWordMs: 1_500 + turns * 40 + Math.round(wave * 900),
    })
    return [
      line('discord:kitchen', 'claude', 17, true),
      line('webchat:desk', 'claude', 9, true),
      line('cron:morning news', 'gemini', 6, false),
      line('discord:garden', 'claude', 5, true),
    ]
  })

const changesOf = (now: number): MemoryChange[] => [
  {
    id: 12,
    at: now - 9 * minute,
    file: 'memory.md',
    events: [39],
    lane: 'discord:garden',
    person: 'Kim',
    owner: false,
    state: 'waiting',
    diff: '@@ -4,3 +4,4 @@\n ## Garden\n-- The hose is in the shed\n+- The hose is behind the house\n+- Kim waters on Tuesdays\n - No pesticides\n',
  },
  {
    id: 11,
    at: now - 3 * hour,
    file: 'memory.md',
    events: [33],
    lane: 'webchat:desk',
    person: null,
    owner: true,
    state: 'made',
    diff: '@@ -9,2 +9,3 @@\n ## Backup\n - runs at 03:00\n+- keep 14 days\n',
  },
  {
    id: 10,
    at: now - 2 * day,
    file: 'CLAUDE.md',
    events: [],
    lane: null,
    person: null,
    owner: true,
    state: 'undone',
    diff: '@@ -1,2 +1,2 @@\n-Answer briefly.\n+Answer at length.\n Be kind.\n',
  },
]

export const sample = (now: number) => ({
  overview: {
    status: {
      ready: true,
      pid: 4711,
      version: '0.1.0',
      backend: 'claude',
      uptimeMs: 3 * hour + 25 * minute,
      rssBytes: 74_200_000,
      events: { received: 214, answered: 205, waiting: 2, running: 1, refused: 3, failed: 3 },
      budget: { usd: { spent: 1.84, of: 5 }, tokens: null, level: 'within' },
      unreached: [] as string[],
    },
    running: [
      {
        event: 44,
        lane: 'discord:kitchen',
        kind: 'message',
        backend: 'claude',
        since: now - 42_000,
        text: 'Please compare the three offers for the heat pump and put them into one table',
      },
    ],
    waiting: [
      {
        event: 45,
        lane: 'discord:kitchen',
        kind: 'message',
        at: now - 20_000,
        notBefore: 0,
        position: 1,
        text: 'And what about the noise?',
      },
      {
        event: 46,
        lane: 'cron:check the site',
        kind: 'cron',
        at: now - 4 * minute,
        notBefore: now + 2 * hour,
        position: 1,
        text: 'Look whether the site answers',
      },
    ],
    today: { turns: 37, failed: 1, costUsd: 1.84, inputTokens: 604_000, outputTokens: 51_800 },
    failures: entriesOf(now).filter(({ level }) => level === 'warn'),
    next: [
      { job: 'inbox', at: now + 12 * minute },
      { job: 'morning news', at: now + 5 * hour },
      { job: 'weekly review', at: now + 3 * day },
    ],
  },
  entries: entriesOf(now),
  events: new Map([41, 44, 38, 39, 40].map(id => [id, storyOf(id, now - 60_000)])),
  usage: usageOf(now),
  agents: [
    {
      id: 'a2',
      name: 'offers',
      instruction: 'Read the three PDFs in offers/ and list price, noise and warranty of each.',
      parent: 'discord:kitchen',
      depth: 1,
      model: null,
      state: 'working',
      at: now - 3 * minute,
      endedAt: null,
      progress: 'Read: offers/second.pdf',
    },
    {
      id: 'a1',
      name: 'links',
      instruction: 'Find dead links in notes/.',
      parent: 'webchat:desk',
      depth: 1,
      model: 'haiku',
      state: 'done',
      at: now - 2 * hour,
      endedAt: now - 2 * hour + 95_000,
      progress: 'Four links are dead; they are listed in notes/dead-links.md.',
    },
  ] as { id: string; name: string; state: string; [more: string]: unknown }[] | null,
  jobs: [
    {
      ...jobOf('inbox', 'every 30 minutes', 'Look at the inbox folder and sort what is new.', [
        now + 12 * minute,
        now + 42 * minute,
        now + 72 * minute,
      ]),
      kind: 'heartbeat' as const,
      last: now - 18 * minute,
    },
    {
      ...jobOf('morning news', 'every day at 07:00', 'Read the feeds and tell me the five things worth knowing.', [
        now + 5 * hour,
        now + 29 * hour,
        now + 53 * hour,
      ]),
      channel: 'discord:news',
      model: 'haiku',
      last: now - 19 * hour,
    },
    {
      ...jobOf('check the site', 'every 10 minutes', 'Look whether the site answers.', []),
      paused: true,
      last: now - 4 * hour,
    },
  ] as JobView[],
  troubles: [
    { file: 'agents.md', name: 'water the plants', why: 'the schedule “when dry” cannot be read.' },
  ] as JobTrouble[],
  sessions: [
    {
      lane: 'discord:kitchen',
      backend: 'claude',
      session: '4f1c6f0e-0a5b-4b1e-9e64-0a39c2e0a111',
      updatedAt: now - 40_000,
      unanswered: 2,
    },
    {
      lane: 'webchat:desk',
      backend: 'claude',
      session: '8b2d1a77-55aa-4b1e-9e64-0a39c2e0a222',
      updatedAt: now - 3 * hour,
      unanswered: 0,
    },
    {
      lane: 'discord:garden',
      backend: 'gemini',
      session: 'c90e3b12-1f2e-4b1e-9e64-0a39c2e0a333',
      updatedAt: now - 41 * day,
      unanswered: 0,
    },
  ] as SessionView[],
  hits: [
    { source: 'memory.md', title: 'Backup', snippet: 'The **backup** runs at 03:00, keep 14 days', at: now - 3 * hour },
    {
      source: 'conversations/kitchen.md',
      title: '',
      snippet: 'Robin asked how the **backup** went <img src=x onerror=alert(1)>',
      at: null,
    },
  ] as MemoryHit[],
  changes: changesOf(now),
  pairing: {
    requests: [
      { chat: 'discord', user: '88', name: 'Sam', code: 'K7QX-2M', where: '#garden', leftMs: 42 * minute },
      { chat: 'discord', user: '89', name: 'Alex <b>', code: 'P3TR-9C', where: 'direct message', leftMs: 55 * minute },
    ] as PairingRequest[],
    people: [
      { chat: 'discord', user: '11', name: 'Robin', as: 'owner', since: now - 60 * day },
      { chat: 'discord', user: '23', name: 'Kim', as: 'guest', since: now - 12 * day },
      { chat: 'discord', user: '31', name: 'Spammer', as: 'denied', since: now - 2 * day },
    ] as KnownPerson[],
  },
})
