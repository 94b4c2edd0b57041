// The registry: one line per backend. Every backend listed here is tested by test/contracts/backend.
import type { Backend } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import type { Confined } from '../box-home.ts'
import { type CliParts, createCliBackend, type Dialect } from '../cli.ts'
import { findProgram, packageVersion } from '../find-program.ts'
import { claude } from './claude.ts'
import { claudeSdk, createClaudeSdk } from './claude-sdk.ts'
import { codex } from './codex.ts'
import { createEcho } from './echo.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'

/** In the order in which they are looked up when none is chosen. */
export const dialects: readonly Dialect[] = [claude, codex, gemini, opencode, pi]

export interface BackendParts extends Omit<CliParts, 'program'> {
  /** BACKEND_CLI_PATH, for the chosen backend; null: its name is looked up on PATH. */
  readonly program: string | null
  /** AGENT_SDK_PATH, for claude-sdk. */
  readonly sdkPath: string | null
  readonly clock: Clock
}

export type Choice =
  | {
      readonly ok: true
      readonly backend: Backend
      /** Why this one was chosen, if that is not obvious. */
      readonly note: string
    }
  | { readonly ok: false; readonly why: string }

/** For the chosen backend only: the others are always looked up on PATH. */
export const pathHint = 'If it is not on PATH, set BACKEND_CLI_PATH to its path.'

/** `wanted` null: the first CLI found on PATH, else echo, which explains why it answers. */
export function chooseBackend(wanted: string | null, parts: BackendParts): Choice {
  if (wanted !== null) {
    const backend = createBackend(wanted, parts, pathHint)
    const known = [...dialects.map(one => one.name), claudeSdk, 'echo'].join(', ')
    return backend
      ? { ok: true, backend, note: wanted === 'echo' ? 'it repeats what you write' : '' }
      : { ok: false, why: `AGENT_BACKEND=${wanted} is not a backend of this version. Available: ${known}.` }
  }
  const found = dialects.find(one => findProgram(parts.program ?? one.name, parts.environment.PATH))
  const backend = found && createBackend(found.name, parts, pathHint)
  if (found && backend) {
    const note = found === dialects[0] ? '' : `AGENT_BACKEND is not set, and ${found.name} is the first one found`
    return { ok: true, backend, note }
  }
  const names = dialects.map(one => one.name).join(', ')
  const howTo = `For example ${claude.name}: ${claude.install} ${pathHint}`
  return {
    ok: true,
    backend: echo(
      parts.clock,
      `No agent CLI was found on this machine (looked for: ${names}), so I can only repeat what you write. ${howTo} Then start Aetheel again.`,
    ),
    note: `no agent CLI was found (looked for: ${names}). ${howTo}`,
  }
}

/** How a backend can be confined; null: it runs no program. The SDK runs claude. */
export const confinedOf = (name: string): Confined | null =>
  dialects.find(one => one.name === (name === claudeSdk ? claude.name : name))?.confined ?? null

/** How a backend gets the gateway's tools; `none`: it uses no tools. */
export function toolAccessOf(name: string): 'mcp' | 'files' | 'none' {
  if (name === 'echo') return 'none'
  return dialects.find(one => one.name === name)?.mcp === false ? 'files' : 'mcp'
}

/** By its name; null: there is no such backend. `hint`: what else to do if its program is missing. */
export function createBackend(name: string, parts: BackendParts, hint = ''): Backend | null {
  if (name === 'echo') return echo(parts.clock, 'This is the echo backend: it repeats what you write.')
  if (name === claudeSdk) return createClaudeSdk(parts)
  const known = dialects.find(one => one.name === name)
  if (!known) return null
  const program = parts.program ?? known.name
  const version = known.forVersion && packageVersion(program, parts.environment.PATH)
  const dialect = (version && known.forVersion?.(version)) || known
  const install = `${dialect.install} ${hint}`.trim()
  return createCliBackend({ ...dialect, install }, { ...parts, program })
}

const echo = (clock: Clock, introduction: string) => createEcho({ clock, pauseMs: 15, introduction })
