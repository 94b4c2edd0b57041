// A complete set of options for the HTTP server that do nothing; tests fill in the ones they need.
import { resolve } from 'node:path'
import { systemClock } from '../../src/app/system-clock.ts'
import type { Records } from '../../src/base/records.ts'
import { createLogins, openDatabase } from '../../src/store/index.ts'
import type { AdminApi, Health, HttpAddress, HttpOptions, WebchatApi } from '../../src/ui/http/options.ts'
import { recordingAdmin } from './admin.ts'
import { fakeMission } from './mission.ts'
import { noPairing } from './no-pairing.ts'
import { fakeFiles, fakeSkills } from './persona-files.ts'

export interface HttpChanges {
  readonly address?: Partial<HttpAddress>
  readonly health?: Partial<Health>
  readonly webchat?: Partial<WebchatApi>
  readonly admin?: Partial<AdminApi>
  readonly logins?: HttpOptions['logins']
  readonly webhook?: HttpOptions['webhook']
  readonly tools?: HttpOptions['tools']
  readonly warn?: HttpOptions['warn']
}

const root = resolve(import.meta.dirname, '../..')

export const fakeHttp = ({ address, health, webchat, admin, ...others }: HttpChanges = {}): HttpOptions => ({
  address: { host: '127.0.0.1', names: [], port: 0, token: 'right-token', hasRoom: () => true, ...address },
  pages: { webDir: resolve(root, 'web'), modulesDir: resolve(root, 'node_modules') },
  health: {
    version: '1.2.3',
    ready: () => true,
    trouble: () => null,
    status: async () => ({ pid: 7 }),
    metrics: async () => 'aetheel_up 1\n',
    ...health,
  },
  webchat: {
    connect: () => undefined,
    newConversation: () => 'fresh',
    message: async ({ id, conversation }) => ({ type: 'accepted', id, conversation, position: 0 }),
    conversations: noConversations,
    attachments: { take: async () => 'no-room', uploaded: async () => null, sent: async () => null },
    ...webchat,
  },
  admin: { ...fakeAdmin(), ...admin },
  logins: createLogins(openDatabase(':memory:'), systemClock, address?.token ?? 'right-token'),
  webhook: async () => ({ status: 404, body: { error: 'There is no such webhook.' } }),
  tools: { list: () => null, call: async () => ({ ok: false, text: 'There is no such tool.' }) },
  warn: () => undefined,
  ...others,
})

export function fakeAdmin(): AdminApi {
  const { jobs, sessions, memory } = recordingAdmin()
  return {
    ...{ mission: fakeMission(), pairing: noPairing, jobs, sessions, memory },
    subagents: { list: async () => [], stop: async () => false },
    requests: { list: () => [], find: () => null, decide: async () => ({ type: 'unknown' }) },
    permissions: {
      list: () => ({ rules: [], problems: [], broken: null }),
      add: async () => ({ ok: true }),
      remove: async () => ({ ok: true }),
    },
    records: { brain: noRecords(), tasks: noRecords(), content: noRecords() },
    ...{ files: fakeFiles({}).files, skills: fakeSkills },
    settings: async () => ({
      read: async () => ({ values: [], trouble: null }),
      change: async () => ({ ok: false, why: 'There are no settings.', problems: [] }),
    }),
    logs: async () => ({ read: async () => ({ lines: [], cursor: '', more: false, gap: false }), kept: false }),
  }
}

const nothing = { messages: [], older: null, newer: null }
const noConversations = { list: () => [], before: () => nothing, from: () => nothing, search: async () => [] }

const noRecords = <One extends { readonly id: string }>(): Records<One> => ({
  list: async () => [],
  add: () => Promise.reject(new Error('nothing is kept in this test')),
  change: async () => ({ type: 'gone' }),
  remove: async () => null,
  restore: async () => null,
})
