// Ports of the command line that do nothing; tests fill in the ones they need.
import type { CliPorts } from '../../src/ui/cli/ports.ts'
import { recordingAdmin } from './admin.ts'
import { noPairing } from './no-pairing.ts'

const nothing = (what: string) => async () => Promise.reject(new Error(`no ${what} in this test`))
const close = async () => undefined

export const noPorts = (): CliPorts => {
  const { jobs, sessions, memory } = recordingAdmin()
  return {
    start: nothing('start'),
    find: async () => null,
    embed: nothing('gateway'),
    doctor: async function* () {},
    audit: async () => [],
    pairing: async () => ({ ...noPairing, close }),
    logins: async () => ({ list: async () => [], revoke: async () => 0, close }),
    jobs: async () => ({ ...jobs, close }),
    sessions: async () => ({ ...sessions, close }),
    memory: async () => ({ ...memory, close }),
    approvals: async () => ({
      ...{ list: async () => [], find: async () => null, decide: async () => ({ type: 'unknown' }), close },
    }),
    setup: nothing('setup'),
    unit: nothing('systemd'),
    config: nothing('configuration'),
    initConfig: nothing('config.json'),
    editConfig: nothing('editor'),
    logs: nothing('log'),
    initExample: nothing('example'),
  }
}
