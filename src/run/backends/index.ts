// The registry: one line per backend. To be listed here is to be tested by test/contracts/backend.
import type { Backend } from '../../base/agent.ts'
import type { Clock } from '../../base/time.ts'
import { type CliParts, type Dialect, openCliBackend } from '../cli.ts'
import { findProgram } from '../which.ts'
import { claude } from './claude.ts'
import { claudeSdk, openClaudeSdk } from './claude-sdk.ts'
import { codex } from './codex.ts'
import { openEcho } from './echo.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'

/** In the order in which they are looked for when none was chosen. */
export const dialects: readonly Dialect[] = [claude, codex, gemini, opencode, pi]

export interface BackendParts extends Omit<CliParts, 'program'> {
  /** BACKEND_CLI_PATH, for the backend that was chosen; null: the backend's own name, looked up on PATH. */
  readonly program: string | null
  /** AGENT_SDK_PATH, for claude-sdk. */
  readonly sdkPath: string | null
  readonly clock: Clock
}

export type Choice =
  | {
      readonly ok: true
      readonly backend: Backend
      /** Why it is this one, where that is not plain. */
      readonly note: string
    }
  | { readonly ok: false; readonly why: string }

/** For the one that was chosen only: the others are always looked up on PATH. */
export const pathHint = 'If it is not on PATH, name its path in BACKEND_CLI_PATH.'

/** `wanted` null: the first CLI found on PATH, else echo, which says so. */
export function chooseBackend(wanted: string | null, parts: BackendParts): Choice {
  if (wanted !== null) {
    const backend = openBackend(wanted, parts, pathHint)
    const known = [...dialects.map(one => one.name), claudeSdk, 'echo'].join(', ')
    return backend
      ? { ok: true, backend, note: wanted === 'echo' ? 'it repeats what you write' : '' }
      : { ok: false, why: `AGENT_BACKEND=${wanted} is not part of this version; it has: ${known}.` }
  }
  const found = dialects.find(one => findProgram(parts.program ?? one.name, parts.environment.PATH))
  const backend = found && openBackend(found.name, parts, pathHint)
  if (found && backend) {
    const note = found === dialects[0] ? '' : `AGENT_BACKEND is not set, and ${found.name} is the first that was found`
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

/** How a backend can be given tools of ours; `none`: it uses no tools. */
export function toolsWayOf(name: string): 'mcp' | 'files' | 'none' {
  if (name === 'echo') return 'none'
  return dialects.find(one => one.name === name)?.mcp === false ? 'files' : 'mcp'
}

/** By its name; null: we do not have it. `hint`: what else to do where its program is missing. */
export function openBackend(name: string, parts: BackendParts, hint = ''): Backend | null {
  if (name === 'echo') return echo(parts.clock, 'This is the echo backend: it repeats what you write.')
  if (name === claudeSdk) return openClaudeSdk(parts)
  const dialect = dialects.find(one => one.name === name)
  if (!dialect) return null
  const install = `${dialect.install} ${hint}`.trim()
  return openCliBackend({ ...dialect, install }, { ...parts, program: parts.program ?? dialect.name })
}

const echo = (clock: Clock, introduction: string) => openEcho({ clock, pauseMs: 15, introduction })
