// The real agent CLIs, at the tested versions, in a cache outside the repository.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { testedVersions } from '../../src/run/tested-versions.ts'

const packages = {
  claude: `@anthropic-ai/claude-code@${testedVersions.claude}`,
  codex: `@openai/codex@${testedVersions.codex}`,
  gemini: `@google/gemini-cli@${testedVersions.gemini}`,
  opencode: `opencode-ai@${testedVersions.opencode}`,
  pi: `@earendil-works/pi-coding-agent@${testedVersions.pi}`,
} as const
const agentSdk = '@anthropic-ai/claude-agent-sdk@0.3.325'
/** Answers like the services of all CLIs, on a loopback port. */
const modelStandIn = '@copilotkit/aimock@1.43.0'

export type Cli = keyof typeof packages
export const clis = Object.keys(packages) as Cli[]

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'aetheel-test-cli')

type Found = { readonly path: string } | { readonly why: string }

/** What a package brings along, once it is installed. */
interface Program {
  readonly what: string
  readonly dir: string
  readonly path: string
}

/** Not a CLI, but the library that contains one. */
const sdk = inCache(agentSdk, join('@anthropic-ai', 'claude-agent-sdk', 'sdk.mjs'))
const model = inCache(modelStandIn, join('@copilotkit', 'aimock', 'dist', 'index.js'))
const cli = (name: Cli) => inCache(packages[name], join('.bin', name))

/** The program, or why it could not be installed here. */
export const installCli = (name: Cli) => install(cli(name))
export const installSdk = () => install(sdk)
export const installModel = () => install(model)

/** A later pi, as its package is: it is bundled, and not everything that it names as a dependency is in every registry. */
export function unpackPi(): Found {
  const what = '@earendil-works/pi-coding-agent@1.5.0'
  const { dir } = inCache(what, '')
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

/** Everything, before the first test: those that run at the same time would be in each other's way. */
export default function setup(): void {
  for (const program of [model, ...clis.map(cli), sdk]) {
    const found = install(program)
    if ('why' in found) console.log(`NOT RUN: ${found.why}`)
  }
}

export const findProgram = (name: Cli | 'claude-sdk') => find(name === 'claude-sdk' ? sdk : cli(name))
export const findModel = () => find(model)

const find = ({ what, path }: Program): Found => (existsSync(path) ? { path } : { why: `${what} is not installed` })

function inCache(what: string, wanted: string): Program {
  const dir = join(cache, what.replace(/[^A-Za-z0-9.-]/g, '_'))
  return { what, dir, path: join(dir, 'node_modules', wanted) }
}

function install({ what, dir, path }: Program): Found {
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
