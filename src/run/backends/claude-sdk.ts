// The Claude Agent SDK: claude by its query(). The package is the user's, looked for when it is needed and loaded by the first turn.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentEvent, Backend, BackendCheck, Turn } from '../../base/agent.ts'
import { type CliParts, childEnvironment } from '../cli.ts'
import { failed } from '../ends.ts'
import { type Json, object, parseLine, string } from '../json.ts'
import { runMark } from '../strays.ts'
import type { Host } from '../warm.ts'
import { backendOf, checkProgram, openingMs, within } from '../ways.ts'
import { findProgram } from '../which.ts'
import { claude, grantedTools, mcpConfigIn, offeredTools } from './claude.ts'
import type { Sdk } from './claude-sdk-query.ts'

export const claudeSdk = 'claude-sdk'

const packageName = '@anthropic-ai/claude-agent-sdk'
const install = `Install it with \`npm install -g ${packageName}\`, or name its folder in AGENT_SDK_PATH.`

export interface SdkParts extends Omit<CliParts, 'program'> {
  /** The claude that it is to use; null: the one that it carries, else the one on PATH. */
  readonly program: string | null
  /** The package, or the folder in which it was installed (AGENT_SDK_PATH); null: it is looked for. */
  readonly sdkPath: string | null
}

export function openClaudeSdk(parts: SdkParts): Backend {
  const { environment, program, sdkPath, scratch } = parts
  const env = childEnvironment(claude, { ...parts, program: claude.name })
  const find = () => findSdk(sdkPath, environment.PATH)
  const missing = `${claudeSdk}: the Claude Agent SDK was not found${sdkPath ? ` in ${sdkPath}` : ''}. ${install}`

  async function check(signal: AbortSignal): Promise<BackendCheck> {
    const sdk = find()
    if (!sdk) return { ok: false, detail: missing }
    const { ok, detail } = await checkProgram(
      {
        name: claudeSdk,
        install: claude.install,
        program: program ?? sdk.program ?? claude.name,
        path: environment.PATH,
        scrub: parts.scrub,
      },
      env,
      signal,
    )
    return { ok, detail: ok ? `${sdk.dir} ${sdk.version} with ${detail}` : detail }
  }

  async function open(turn: Turn, dir: string, patienceMs: number): Promise<Host> {
    const sdk = find()
    if (!sdk) throw new Error(missing)
    const [loaded] = await Promise.all([
      import(pathToFileURL(sdk.entry).href) as Promise<Sdk>,
      ...Object.entries(claude.files(turn, env)).map(([name, text]) =>
        writeFile(join(dir, name), text, { mode: 0o600 }),
      ),
    ])
    const instead = program ?? (sdk.program ? null : claude.name)
    const options = {
      ...optionsFor(turn, dir),
      // Nothing else of ours reaches the process: this stands in place of the environment, not on top of it.
      env: { ...env, ...claude.environment(turn, dir, env), [runMark]: dir },
      ...(instead ? { pathToClaudeCodeExecutable: findProgram(instead, environment.PATH) ?? instead } : {}),
    }
    const { openQuery } = await import('./claude-sdk-query.ts')
    return openQuery(loaded, { options, workingDir: turn.workingDir, patienceMs })
  }

  async function openKept(turn: Turn, patienceMs: number, signal: AbortSignal): Promise<Host> {
    const folder = scratch.keep()
    const opening = open(turn, folder.dir, patienceMs)
    // Also when nobody waits for it any more.
    void opening.then(host => host.gone).then(folder.remove, folder.remove)
    try {
      return await within(openingMs, signal, () => opening)
    } catch (error) {
      void opening.then(host => host.kill()).catch(() => undefined /* it never came up */)
      throw error
    }
  }

  /** A query for this turn alone. */
  async function* cold(
    turn: Turn,
    signal: AbortSignal,
    leaves: (gone: Promise<unknown>) => void,
  ): AsyncGenerator<AgentEvent> {
    if (signal.aborted) return yield failed('stopped', 'stopped before it began')
    if (!find()) return yield failed('not-installed', missing)
    let host: Host
    try {
      host = await openKept(turn, 5000, signal)
    } catch (error) {
      return yield signal.aborted
        ? failed('stopped', 'stopped before it began')
        : failed('crashed', `the SDK could not be started: ${String(error)}`)
    }
    signal.addEventListener('abort', host.kill, { once: true })
    if (signal.aborted) host.kill()
    try {
      // An abort ends the process: there is nothing to interrupt it for.
      for await (const event of host.run(turn, new AbortController().signal)) {
        if (signal.aborted) break
        // A run that failed has nothing more to do; an answer does not wait for the process to leave.
        if (event.type === 'ended' && !event.ok) host.kill()
        yield event
        if (event.type === 'ended') return
      }
      await host.gone
      yield failed('stopped', 'the run was stopped')
    } finally {
      signal.removeEventListener('abort', host.kill)
      leaves(host.close())
    }
  }

  return backendOf(
    {
      name: claudeSdk,
      takesSessionIds: true,
      check,
      ignores: claude.ignores,
      cold,
      warm: claude.warm,
      open: (_, turn, signal) => openKept(turn, 1500, signal),
    },
    parts,
  )
}

function optionsFor(turn: Turn, dir: string): Json {
  return {
    cwd: turn.workingDir,
    // Without `snapshot: false` a resumed session keeps the system prompt of its first turn.
    systemPrompt: { type: 'preset', preset: 'claude_code', append: turn.systemPrompt, snapshot: false },
    permissionMode: turn.permissionMode,
    allowDangerouslySkipPermissions: turn.permissionMode === 'bypassPermissions',
    tools: offeredTools(turn),
    allowedTools: grantedTools(turn),
    maxTurns: turn.maxTurns,
    includePartialMessages: true,
    // Its own option for them would put their secrets on the command line.
    ...(turn.mcpServers.length > 0 ? { extraArgs: { 'mcp-config': mcpConfigIn(dir) } } : {}),
    ...(turn.model ? { model: turn.model } : {}),
    ...(turn.session ? { [turn.session.resume ? 'resume' : 'sessionId']: turn.session.id } : {}),
  }
}

export interface FoundSdk {
  readonly dir: string
  readonly version: string
  /** What is imported. */
  readonly entry: string
  /** The claude that it carries; null: it came without. */
  readonly program: string | null
}

/** The nearest one: of the folder we are in, of ours, of the node that runs, of those that PATH leads to. */
export function findSdk(
  sdkPath: string | null,
  path: string | undefined,
  { cwd, node } = { cwd: process.cwd(), node: process.execPath },
): FoundSdk | null {
  const prefixes = [dirname(node), ...(path ?? '').split(delimiter).filter(isAbsolute)]
  const places = sdkPath
    ? [resolve(sdkPath), join(resolve(sdkPath), packageName), join(resolve(sdkPath), 'node_modules', packageName)]
    : [
        ...modulesAbove(cwd),
        ...modulesAbove(import.meta.dirname),
        ...prefixes.map(dir => join(dir, '..', 'lib', 'node_modules')),
        // Where Windows keeps its global packages.
        ...prefixes.map(dir => join(dir, 'node_modules')),
      ].map(modules => join(modules, packageName))
  for (const dir of places) {
    const found = sdkIn(dir)
    if (found) return found
  }
  return null
}

function modulesAbove(dir: string): readonly string[] {
  const above = dirname(dir)
  return [join(dir, 'node_modules'), ...(above === dir ? [] : modulesAbove(above))]
}

function sdkIn(dir: string): FoundSdk | null {
  const about = describedIn(dir)
  if (about?.name !== packageName) return null
  const entry = string(object(object(about.exports)['.']).default) || string(about.main)
  return { dir, version: string(about.version), entry: join(dir, entry), program: carriedBy(dir) }
}

function describedIn(dir: string): Json | null {
  try {
    return parseLine(readFileSync(join(dir, 'package.json'), 'utf8'))
  } catch {
    return null // not here
  }
}

/** It comes as a package of its own for each kind of machine, which npm leaves out when told to. */
function carriedBy(dir: string): string | null {
  const require = createRequire(join(dir, 'package.json'))
  const file = process.platform === 'win32' ? 'claude.exe' : 'claude'
  for (const kind of ['', '-musl'])
    try {
      return require.resolve(`${packageName}-${process.platform}-${process.arch}${kind}/${file}`)
    } catch {
      // Another kind, or none.
    }
  return null
}
