// Backend and model as people write them: `codex`, `opus`, `codex/gpt-5`, `codex gpt-5`. Parsed the same way everywhere.
import { type BackendName, backendNames } from './agent.ts'

export interface WrittenModelOverride {
  readonly backend: BackendName | null
  readonly model: string | null
}

/**
 * The name of a backend selects that backend, with anything after a slash or blanks as its model. Anything else is a model, also after
 * a leading slash.
 */
export function parseModelOverride(written: string): WrittenModelOverride {
  const text = written.trim()
  const [, first = '', rest = ''] = /^([^/\s]+)(?:\s*\/\s*|\s+|$)(.*)$/s.exec(text) ?? []
  const backend = backendNames.find(name => name === first.toLowerCase())
  if (backend !== undefined) return { backend, model: rest.trim() || null }
  return { backend: null, model: text.replace(/^\/\s*/, '') || null }
}

/** `parseModelOverride` reads it back. */
export function formatModelOverride({ backend, model }: WrittenModelOverride): string {
  if (backend !== null) return model === null ? backend : `${backend}/${model}`
  if (model === null) return ''
  return parseModelOverride(model).backend === null && !model.startsWith('/') ? model : `/${model}`
}
