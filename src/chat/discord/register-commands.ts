// Registers the slash commands with Discord: all at once, or as many as a compatible server accepts.
import type { REST } from '@discordjs/rest'
import type { ChatMemory } from '../../base/chat.ts'
import type { Clock } from '../../base/time.ts'
import { type CommandDefinition, hashOf, withoutFiles, withTextAlone } from './commands.ts'
import { isInvalid, persist, troubleOf } from './errors.ts'

export interface RegisteringParts {
  readonly rest: REST
  readonly memory: ChatMemory
  readonly clock: Clock
  trouble(why: string): void
}

type Definitions = readonly CommandDefinition[]

/** Tried in turn while the server rejects them as invalid. */
const versions: readonly { readonly lacks: string; of(all: Definitions): Definitions }[] = [
  { lacks: '', of: all => all },
  { lacks: 'files', of: all => all.map(withoutFiles) },
  { lacks: 'files and completion', of: all => all.map(withTextAlone) },
]

/** Registers only if something has changed. Never rejects. */
export async function registerCommands(
  { rest, memory, clock, trouble }: RegisteringParts,
  app: string,
  definitions: Definitions,
  signal: AbortSignal,
): Promise<void> {
  const hash = `${app} ${hashOf(definitions)}`
  if (memory.get('commands') === hash) return
  const path = `/applications/${app}/commands` as const
  const failed = (why: string) => trouble(`the slash commands could not be registered: ${why}`)
  try {
    for (const { lacks, of } of versions) {
      const why = await refusalOf(() => rest.put(path, { body: of(definitions) }))
      if (why !== null) continue
      if (lacks !== '') trouble(`the slash commands were registered without ${lacks}, which this server refuses`)
      return memory.put('commands', hash)
    }
    // One of them is invalid; register the others anyway.
    const refused: string[] = []
    for (const one of definitions.map(withTextAlone)) {
      const why = await refusalOf(() => rest.post(path, { body: one }))
      if (why !== null) refused.push(`/${one.name} (${why})`)
    }
    if (refused.length > 0) trouble(`this server refuses the slash commands ${refused.join(', ')}`)
    if (refused.length < definitions.length) memory.put('commands', hash)
  } catch (error) {
    if (!signal.aborted) failed(troubleOf(error).why)
  }

  /** Null: accepted. Rejects with errors that another version would not change. */
  async function refusalOf(ask: () => Promise<unknown>): Promise<string | null> {
    try {
      await persist(ask, clock, signal, { longestMs: 600_000, passing: failed })
      return null
    } catch (error) {
      signal.throwIfAborted()
      if (isInvalid(error)) return troubleOf(error).why
      throw error
    }
  }
}
