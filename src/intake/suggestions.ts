// Completions for command arguments: the backends, and models that are configured or were used recently.

export interface SuggestionParts {
  readonly backends: readonly string[]
  /** The main model, if one is set. */
  readonly model: string | null
  /** Models configured for a source, and models used recently. Backend null: the main one. */
  models(): readonly { readonly backend: string | null; readonly model: string | null }[]
}

/** The commands that have completions. */
export const completedCommands: readonly string[] = ['model', 'backend']

export function createSuggestions({
  backends,
  model,
  models,
}: SuggestionParts): (command: string) => readonly string[] {
  return command => {
    if (command === 'backend') return ['default', ...backends]
    if (command !== 'model') return []
    const known = models().flatMap(one =>
      one.model === null ? [] : [one.backend === null ? one.model : `${one.backend}/${one.model}`],
    )
    return ['default', ...(model === null ? [] : [model]), ...new Set(known)]
  }
}
