// `npm run dashboard`: the real gateway with sample data and without an agent. The workspace is deleted when it ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
// As in the launcher: without the compile cache, most of the time is spent compiling.
enableCompileCache(join(root, 'node_modules/.cache/aetheel'))
const dir = mkdtempSync(join(tmpdir(), 'aetheel-dashboard-'))
process.on('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
// Also while the sample is being written; once the gateway runs, it handles signals itself.
const leave = () => process.exit(0)
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, leave)

// Settings of the owner's own gateway, such as a bot token, must not apply to the sample.
const ours = new Set([
  'PATH',
  'HOME',
  'USER',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'HTTP_PORT',
])
for (const name of Object.keys(process.env)) if (!ours.has(name)) delete process.env[name]
process.env.CONFIG_DIR = dir
process.env.HTTP_PORT ??= '0'
process.chdir(dir)

const { fill } = await import('./fill.ts')
await fill(dir, root, Date.now())
const { start } = await import('../src/app/index.ts')
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, leave)
process.exitCode = await start({})
