// Tools for memory: search, add and remove, with the author of each change recorded.
import type { MemoryHit, MemorySearch } from '../base/memory.ts'
import { visible } from '../base/scrub.ts'
import type { Caller, Tool, ToolAnswer } from '../base/tools.ts'
import { limited, lines, tool } from './tool.ts'

export interface Memory {
  readonly search: MemorySearch['search']
  /** Makes the change, or leaves it for the owner to approve if somebody else's message asked for it. */
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
      async call({ query, limit }, { principal }) {
        const most = limited(limit, 8, 50)
        // A guest must not see what others said in their conversations.
        const hits = principal.owner
          ? await memory.search(query, most)
          : (await memory.search(query, most * 4)).filter(hit => !isConversation(hit)).slice(0, most)
        return lines('Nothing was found.', hits.map(line))
      },
    }),
    tool({
      name: 'remember',
      about: 'Adds a lasting fact to memory.md.',
      takes: { text: { type: 'string', about: 'one self-contained fact', required: true } },
      call: ({ text }, caller) => memory.remember(text, caller),
    }),
    tool({
      name: 'forget',
      about: 'Removes a fact from memory.md.',
      takes: { text: { type: 'string', about: 'as written there', required: true } },
      call: ({ text }, caller) => memory.forget(text, caller),
    }),
  ]
}

const isConversation = ({ source }: MemoryHit) => /^(?:conversations|messages)\b/.test(source)

const line = ({ source, title, snippet }: MemoryHit) =>
  `- ${visible(source)}${title && title !== source ? ` (${visible(title)})` : ''}: ${snippet.replace(/[\s\u0085]+/g, ' ')}`
