// Tools for memory: search, add and remove, with the author of each change recorded.
import type { DescentLimits } from '../base/descent.ts'
import type { MemoryHit, MemorySearch } from '../base/memory.ts'
import { visible } from '../base/scrub.ts'
import type { Caller, Tool, ToolAnswer } from '../base/tools.ts'
import { done, limited, lines, refused, tool } from './tool.ts'

export interface Memory {
  readonly search: MemorySearch['search']
  /** Makes the change, or leaves it for the owner to approve if somebody else's message asked for it. */
  remember(text: string, caller: Caller): Promise<ToolAnswer>
  forget(text: string, caller: Caller): Promise<ToolAnswer>
  /** Whether guests may know what is in memory.md. */
  isOpenToGuests(): boolean
}

const mostSearched = 100

export function memoryTools(memory: Memory, takeMessage: DescentLimits['takeMessage']): readonly Tool[] {
  const maySee = ({ principal }: Caller) => principal.owner || memory.isOpenToGuests()

  /** Conversations and notes are the owner's; everybody may see facts. */
  const isForGuests = ({ source }: MemoryHit) =>
    source === 'brain' || (source === 'memory.md' && memory.isOpenToGuests())

  /** Each wish of a guest is a notice to the owner, so it counts like a message. */
  async function wish({ principal }: Caller, change: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
    const limit = principal.owner ? null : await takeMessage(principal)
    return limit === null ? change() : refused(`${limit} memory.md stays as it is.`)
  }

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
        const hits = principal.owner
          ? await memory.search(query, most)
          : (await memory.search(query, mostSearched)).filter(isForGuests).slice(0, most)
        return lines('Nothing was found.', hits.map(line))
      },
    }),
    tool({
      name: 'remember',
      about: 'Adds a lasting fact to memory.md.',
      takes: { text: { type: 'string', about: 'one self-contained fact', required: true } },
      call: ({ text }, caller) =>
        wish(caller, async () => {
          const answer = await memory.remember(text, caller)
          // The usual answer would tell what is there already.
          return answer.ok && !maySee(caller) ? done("This waits for your owner's approval.") : answer
        }),
    }),
    tool({
      name: 'forget',
      about: 'Removes a fact from memory.md.',
      takes: { text: { type: 'string', about: 'as written there', required: true } },
      call: async ({ text }, caller) =>
        maySee(caller)
          ? wish(caller, () => memory.forget(text, caller))
          : refused('You do not see memory.md in this turn, so nothing can be removed from it.'),
    }),
  ]
}

const line = ({ source, title, snippet }: MemoryHit) =>
  `- ${visible(source)}${title && title !== source ? ` (${visible(title)})` : ''}: ${snippet.replace(/[\s\u0085]+/g, ' ')}`
