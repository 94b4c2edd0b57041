// The Claude Agent SDK: runs claude through query(). The user installs the package; it is looked up when needed and loaded by the first turn.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AgentEvent, Backend, BackendCheck, Turn } from '../../base/agent.ts'
import { isConfined } from '../../base/profile.ts'
import { childEnvironment } from '../child-environment.ts'
import type { CliParts } from '../cli.ts'
import { runTag } from '../end-processes.ts'
import { failed } from '../events.ts'
import { findProgram } from '../find-program.ts'
import { isNoRoom, type ProcessOrder } from '../process.ts'
import { runAlone } from '../single-turn-host.ts'
import { type Json, object, parseLine, string } from '../stdio.ts'
import { createSurroundings } from '../surroundings.ts'
import { backendOf, checkProgram, type Host, openingMs, within } from '../warm.ts'
import {
  claude,
  deniedTools,
  grantedTools,
  guestSettings,
  mcpConfigIn,
  modeOf,
  offeredTools,
  replays,
} from './claude.ts'
import { isAsking } from './claude-asks.ts'
import type { Sdk } from './claude-sdk-query.ts'
import { deniedRuns, hasSettings, runSettingsIn } from './claude-settings.ts'

export const claudeSdk = 'claude-sdk'

const packageName = '@anthropic-ai/claude-agent-sdk'
const install = `Install it with \`npm install -g ${packageName}\`, or set AGENT_SDK_PATH to its folder.`

export interface SdkParts extends Omit<CliParts, 'program'> {
  /** The claude program to use; null: the one bundled with the SDK, else the one on PATH. */
  readonly program: string | null
  /** The package, or the folder in which it was installed (AGENT_SDK_PATH); null: it is looked up. */
  readonly sdkPath: string | null
}

export function createClaudeSdk(parts: SdkParts): Backend {
  const { environment, program, sdkPath, tempDirs } = parts
  const env = childEnvironment(claude, parts)
  const surroundings = createSurroundings(claude, parts)
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
    const inside = surroundings(turn)
    const [loaded] = await Promise.all([
      import(pathToFileURL(sdk.entry).href) as Promise<Sdk>,
      ...Object.entries(claude.files(turn, inside.env)).map(([name, text]) =>
        writeFile(join(dir, name), text, { mode: 0o600 }),
      ),
    ])
    const instead = program ?? (sdk.program ? null : claude.name)
    const options = {
      ...optionsFor(turn, dir),
      // This replaces the environment of the process, so it gets no other variables of the gateway.
      env: { ...inside.env, ...claude.environment(turn, dir, inside.env), [runTag]: dir },
      ...(instead ? { pathToClaudeCodeExecutable: findProgram(instead, environment.PATH) ?? instead } : {}),
    }
    const { openQuery } = await import('./claude-sdk-query.ts')
    const enter = (order: ProcessOrder) => inside.enter(order, dir)
    return openQuery(loaded, { options, asking: isAsking(turn), workingDir: turn.workingDir, patienceMs, enter })
  }

  async function openInTempDir(turn: Turn, patienceMs: number, signal: AbortSignal): Promise<Host> {
    const folder = tempDirs.create()
    const opening = open(turn, folder.dir, patienceMs)
    // Even if nobody waits for it any more.
    void opening.then(host => host.gone).then(folder.remove, folder.remove)
    try {
      return await within(openingMs, signal, () => opening)
    } catch (error) {
      void opening.then(host => host.kill()).catch(() => undefined /* it never started */)
      throw error
    }
  }

  /** A query for this turn only. */
  async function* cold(
    turn: Turn,
    signal: AbortSignal,
    leaves: (gone: Promise<unknown>) => void,
  ): AsyncGenerator<AgentEvent> {
    if (signal.aborted) return yield failed('stopped', 'stopped before it began')
    if (!find()) return yield failed('not-installed', missing)
    let host: Host
    try {
      host = await openInTempDir(turn, 5000, signal)
    } catch (error) {
      return yield signal.aborted
        ? failed('stopped', 'stopped before it began')
        : failed(isNoRoom(error) ? 'no-room' : 'crashed', `the SDK could not be started: ${String(error)}`)
    }
    yield* runAlone(host, turn, signal, leaves)
  }

  return backendOf(
    {
      name: claudeSdk,
      takesSessionIds: true,
      check,
      checkModel: null,
      ignores: claude.ignores,
      cold,
      warm: claude.warm,
      open: (_, turn, signal) => openInTempDir(turn, 1500, signal),
    },
    parts,
  )
}

function optionsFor(turn: Turn, dir: string): Json {
  return {
    cwd: turn.workingDir,
    // Without `snapshot: false` a resumed session keeps the system prompt of its first turn.
    systemPrompt: { type: 'preset', preset: 'claude_code', append: turn.systemPrompt, snapshot: false },
    permissionMode: modeOf(turn),
    allowDangerouslySkipPermissions: modeOf(turn) === 'bypassPermissions',
    tools: offeredTools(turn),
    allowedTools: grantedTools(turn),
    maxTurns: turn.maxTurns,
    includePartialMessages: true,
    // The SDK's own option for MCP servers would put their secrets on the command line.
    extraArgs: {
      [replays]: null,
      ...(turn.mcpServers.length > 0 ? { 'mcp-config': mcpConfigIn(dir) } : {}),
      ...(isConfined(turn.profile)
        ? { 'strict-mcp-config': null, settings: JSON.stringify(guestSettings) }
        : hasSettings(turn)
          ? { settings: runSettingsIn(dir) }
          : {}),
    },
    ...(isConfined(turn.profile)
      ? { settingSources: ['user'], disallowedTools: deniedTools(turn) }
      : hasSettings(turn)
        ? { disallowedTools: [deniedRuns(dir)] }
        : {}),
    ...(turn.model ? { model: turn.model } : {}),
    ...(turn.session ? { [turn.session.resume ? 'resume' : 'sessionId']: turn.session.id } : {}),
  }
}

export interface FoundSdk {
  readonly dir: string
  readonly version: string
  /** The file to import. */
  readonly entry: string
  /** The bundled claude program; null: there is none. */
  readonly program: string | null
}

/** Searches the working directory, the gateway's own folder, the running node, and the prefixes on PATH, in this order. */
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
        // Global packages on Windows.
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
  const about = packageJsonIn(dir)
  if (about?.name !== packageName) return null
  const entry = string(object(object(about.exports)['.']).default) || string(about.main)
  return { dir, version: string(about.version), entry: join(dir, entry), program: bundledProgram(dir) }
}

function packageJsonIn(dir: string): Json | null {
  try {
    return parseLine(readFileSync(join(dir, 'package.json'), 'utf8'))
  } catch {
    return null // no package here
  }
}

/** It is an optional package for each platform, so it may be missing. */
function bundledProgram(dir: string): string | null {
  const require = createRequire(join(dir, 'package.json'))
  const file = process.platform === 'win32' ? 'claude.exe' : 'claude'
  for (const kind of ['', '-musl'])
    try {
      return require.resolve(`${packageName}-${process.platform}-${process.arch}${kind}/${file}`)
    } catch {
      // Try the next variant.
    }
  return null
}
