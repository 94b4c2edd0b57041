// The backends of this configuration: the one that answers, opened and checked, and the others when they are asked for.
import type { Backend, Turn } from '../base/agent.ts'
import type { Tell } from '../base/signal.ts'
import { type BackendParts, chooseBackend, openBackend, openPool, type Scratch, treeMemory } from '../run/index.ts'
import { systemClock as clock } from './clock.ts'
import type { Loaded } from './config.ts'

export interface OpenBackends {
  readonly main: Backend
  /** Why it is this one, or where it was found. */
  readonly note: string
  /** Null: there is no such backend. */
  named(name: string): Backend | null
  /** Ends what they keep running between turns. */
  close(): Promise<void>
}

export interface BackendsParts {
  readonly scratch: Scratch
  readonly tell: Tell
  scrub(text: string): string
  warn(backend: string, what: string): void
}

export type OpenedBackends = (OpenBackends & { readonly ok: true }) | { readonly ok: false; readonly why: string }

export async function openBackends(
  { config, environment }: Extract<Loaded, { ok: true }>,
  { scratch, tell, scrub, warn }: BackendsParts,
  signal: AbortSignal,
): Promise<OpenedBackends> {
  const { agent } = config
  const pool = agent.warm && openPool({ rules: agent.warm, clock, tell, memoryOf: treeMemory })
  const parts: BackendParts = {
    program: agent.cliPath,
    environment,
    handOn: agent.env,
    extra: config.envVars,
    scrub,
    clock,
    pool,
    scratch,
    sdkPath: agent.sdkPath,
  }
  const choice = chooseBackend(agent.backend, parts)
  if (!choice.ok) return choice
  const main = choice.backend
  const check = await main.check(signal)
  if (!check.ok) return { ok: false, why: check.detail }

  const opened = new Map([[main.name, main]])
  /** What it cannot do of what is asked for is said once, when it is opened. */
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
      const backend = openBackend(name, { ...parts, program: null })
      if (backend) opened.set(name, warned(backend))
      return backend
    },
    close: async () => {
      await pool?.close()
    },
  }
}

/** A turn as they will all be, for whoever wants to know what is asked of a backend. */
export function sampleTurn(config: Extract<Loaded, { ok: true }>['config']): Turn {
  return {
    prompt: '',
    systemPrompt: '',
    session: null,
    model: config.agent.model,
    maxTurns: config.agent.maxTurns,
    allowedTools: config.allowedTools,
    permissionMode: config.permissionMode,
    mcpServers: config.mcpServers,
    workingDir: config.configDir,
  }
}
