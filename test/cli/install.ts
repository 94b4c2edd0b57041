// The real agent CLIs, at the tested versions, in a cache outside the repository.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const packages = {
  claude: '@anthropic-ai/claude-code@2.1.325',
  codex: '@openai/codex@0.166.0',
  gemini: '@google/gemini-cli@0.61.0',
  opencode: 'opencode-ai@1.18.33',
  pi: '@earendil-works/pi-coding-agent@0.87.1',
} as const
const agentSdk = '@anthropic-ai/claude-agent-sdk@0.3.325'
/** Answers like the services of all CLIs, on a loopback port. */
const modelStandIn = '@copilotkit/aimock@1.43.0'

export type Cli = keyof typeof packages
export const clis = Object.keys(packages) as Cli[]

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'aetheel-test-cli')

/** The program, or why it could not be installed here. */
export const installCli = (name: Cli) => install(packages[name], join('.bin', name))
/** Not a CLI, but the library that contains one. */
export const installSdk = () => install(agentSdk, join('@anthropic-ai', 'claude-agent-sdk', 'sdk.mjs'))
export const installModel = () => install(modelStandIn, join('@copilotkit', 'aimock', 'dist', 'index.js'))

/** A later pi, as its package is: it is bundled, and not everything that it names as a dependency is in every registry. */
export function unpackPi(): { readonly path: string } | { readonly why: string } {
  const what = '@earendil-works/pi-coding-agent@1.5.0'
  const dir = join(cache, what.replace(/[^A-Za-z0-9.-]/g, '_'))
  const path = join(dir, 'package', 'dist', 'bundle', 'cli.js')
  if (existsSync(path)) return { path }
  mkdirSync(dir, { recursive: true })
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--silent', what], { cwd: dir, encoding: 'utf8' })
  if (status !== 0) return { why: `${what} could not be downloaded: ${stderr.trim().split('\n').at(-1) ?? ''}` }
  spawnSync('tar', ['xzf', stdout.trim()], { cwd: dir })
  // The one dependency that is not in the bundle and that an extension needs.
  writeFileSync(join(dir, 'package.json'), '{"private":true}\n')
  spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-save', 'jiti@2.7.0'], { cwd: dir })
  chmodSync(path, 0o755)
  return { path }
}

function install(what: string, wanted: string): { readonly path: string } | { readonly why: string } {
  const dir = join(cache, what.replace(/[^A-Za-z0-9.-]/g, '_'))
  const path = join(dir, 'node_modules', wanted)
  if (existsSync(path)) return { path }
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'package.json'), '{"private":true}\n')
  const { status, stderr } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-save', what], {
    cwd: dir,
    encoding: 'utf8',
    timeout: 300_000,
  })
  if (status === 0 && existsSync(path)) return { path }
  return { why: `${what} could not be installed: ${stderr.trim().split('\n').at(-1) ?? ''}` }
}
