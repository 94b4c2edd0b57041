// The configured backends: the one that answers, created and checked at start, and the others on demand.
import type { Backend, Turn } from '../../base/agent.ts'
import type { Emit } from '../../base/signal.ts'
import type { Loaded } from '../../config/index.ts'
import {
  type BackendParts,
  chooseBackend,
  createBackend,
  openPool,
  type TempDirs,
  treeMemory,
} from '../../run/index.ts'
import { systemClock as clock } from '../system-clock.ts'

export interface OpenBackends {
  readonly main: Backend
  /** Why this backend was chosen, or where it was found. */
  readonly note: string
  /** Null if there is no such backend. */
  named(name: string): Backend | null
  /** Ends the processes kept warm between turns. */
  close(): Promise<void>
}

export interface BackendsParts {
  readonly tempDirs: TempDirs
  readonly emit: Emit
  /** The address of this gateway, once it listens. */
  gateway(): string
  scrub(text: string): string
  warn(backend: string, what: string): void
}

export type OpenedBackends = (OpenBackends & { readonly ok: true }) | { readonly ok: false; readonly why: string }

export async function openBackends(
  { config, environment }: Extract<Loaded, { ok: true }>,
  { tempDirs, emit, gateway, scrub, warn }: BackendsParts,
  signal: AbortSignal,
): Promise<OpenedBackends> {
  const { agent } = config
  const { warm } = config.views
  const pool = warm && openPool({ rules: warm, clock, emit, memoryOf: treeMemory })
  const parts: BackendParts = {
    program: agent.cliPath,
    environment,
    handOn: agent.env,
    extra: config.envVars,
    scrub,
    clock,
    pool,
    tempDirs,
    sdkPath: agent.sdkPath,
    reach: { gateway },
  }
  const choice = chooseBackend(agent.backend, parts)
  if (!choice.ok) return choice
  const main = choice.backend
  const check = await main.check(signal)
  if (!check.ok) return { ok: false, why: check.detail }

  const opened = new Map([[main.name, main]])
  /** Warns once, when the backend is created, about the settings it cannot honour. */
  const warned = (backend: Backend): Backend => {
    for (const what of backend.ignores(sampleTurn(config))) warn(backend.name, what)
    return backend
  }
  warned(main)
  return {
    ok: true,
    main,
    note: choice.note || check.detail,
    named(name) {
      const known = opened.get(name)
      if (known) return known
      const backend = createBackend(name, { ...parts, program: null })
      if (backend) opened.set(name, warned(backend))
      return backend
    },
    close: async () => {
      await pool?.close()
    },
  }
}

/** A turn with the configured settings, used to find out what a backend ignores. */
export function sampleTurn(config: Extract<Loaded, { ok: true }>['config']): Turn {
  return {
    prompt: '',
    systemPrompt: '',
    session: null,
    model: config.agent.model,
    maxTurns: config.agent.maxTurns,
    allowedTools: config.allowedTools,
    askTools: config.askTools,
    permissionMode: config.permissionMode,
    mcpServers: config.mcp.servers,
    workingDir: config.configDir,
  }
}
