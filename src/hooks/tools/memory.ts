// Memory by tools: searched, added to and taken from, with the origin of each change known.
import type { MemoryHit, MemorySearch } from '../../base/memory.ts'
import type { Caller, Tool, ToolAnswer } from '../../base/tools.ts'
import { limited, lines, tool } from './tool.ts'

export interface Memory {
  readonly search: MemorySearch['search']
  /** The change stands, or waits for the owner where it comes from somebody else's words. */
  remember(text: string, caller: Caller): Promise<ToolAnswer>
  forget(text: string, caller: Caller): Promise<ToolAnswer>
}

export function memoryTools(memory: Memory): readonly Tool[] {
  return [
    tool({
      name: 'memory_search',
      about: 'Searches memory, facts, notes and old conversations.',
      takes: {
        query: { type: 'string', about: 'words', required: true },
        limit: { type: 'integer', about: 'default 8' },
      },
      readOnly: true,
      async call({ query, limit }, { behalf }) {
        const most = limited(limit, 8, 50)
        // What others said in their conversations is none of a guest's business.
        const hits = behalf.owner
          ? await memory.search(query, most)
          : (await memory.search(query, most * 4)).filter(hit => !isConversation(hit)).slice(0, most)
        return lines('Nothing was found.', hits.map(line))
      },
    }),
    tool({
      name: 'remember',
      about: 'Adds a lasting fact to memory.md.',
      takes: { text: { type: 'string', about: 'one fact, complete in itself', required: true } },
      call: ({ text }, caller) => memory.remember(text, caller),
    }),
    tool({
      name: 'forget',
      about: 'Takes a fact out of memory.md.',
      takes: { text: { type: 'string', about: 'as it stands there', required: true } },
      call: ({ text }, caller) => memory.forget(text, caller),
    }),
  ]
}

const isConversation = ({ source }: MemoryHit) => /^(?:conversations|messages)\b/.test(source)

const line = ({ source, title, snippet }: MemoryHit) =>
  `- ${source}${title && title !== source ? ` (${title})` : ''}: ${snippet.replace(/\s+/g, ' ')}`
