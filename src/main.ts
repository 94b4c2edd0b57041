// The executable: arguments in, exit code out. Everything else is loaded on demand.
import product from '../package.json' with { type: 'json' }
import { runCli } from './ui/index.ts'

const app = () => import('./app/index.ts')

// A reader that has closed the pipe (`aetheel status | head -1`) is not our error. Nor must a gateway end because its log cannot be written.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || process.exitCode === 1) return
  process.exitCode = 1
  process.stderr.write(`aetheel: the output could not be written (${error.code})\n`)
})
process.stderr.on('error', () => undefined)

const code = await runCli(
  process.argv.slice(2),
  {
    start: async flags => (await app()).start(flags),
    find: async flags => (await app()).find(flags),
    embed: async (flags, signal) => (await app()).embed(flags, signal),
    doctor: async function* (flags, live, signal) {
      yield* (await app()).doctor(flags, live, signal)
    },
    audit: async (flags, fix) => (await app()).audit(flags, fix),
    pairing: async flags => (await app()).pairing(flags),
    logins: async flags => (await app()).logins(flags),
    jobs: async flags => (await app()).jobs(flags),
    sessions: async flags => (await app()).sessions(flags),
    memory: async flags => (await app()).memory(flags),
    approvals: async flags => (await app()).approvals(flags),
    setup: async flags => (await app()).setup(flags),
    unit: async flags => (await app()).unit(flags),
    config: async flags => (await app()).config(flags),
    initConfig: async (flags, force) => (await app()).initConfig(flags, force),
    editConfig: async flags => (await app()).editConfig(flags),
    logs: async flags => (await app()).logs(flags),
    initExample: async flags => (await app()).initExample(flags),
  },
  {
    get stdin() {
      return process.stdin // a getter, because accessing it opens stdin, which `start` does not need
    },
    stdout: process.stdout,
    stderr: process.stderr,
    onInterrupt(listener) {
      process.on('SIGINT', listener)
      return () => process.off('SIGINT', listener)
    },
    now: () => performance.now(),
    zone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  },
  product.version,
)
process.exitCode ??= code
