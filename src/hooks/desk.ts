// The desk at which agents ask for the gateway's own tools. A key counts only while a turn of its lane and its standing runs.
import { type Behalf, behalfOf, type LaneKey, type NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { Caller, OfferedTool, Tool, ToolAnswer, ToolDesk } from '../base/tools.ts'
import { checkArguments } from './arguments.ts'

export interface DeskParts {
  readonly tools: readonly Tool[]
  /** Nobody can guess it. */
  newKey(): string
  /** A tool threw, which is a bug of ours. */
  broke(tool: string, error: unknown): void
}

export interface Visit {
  readonly key: string
  leave(): void
}

export interface Desk extends ToolDesk {
  /** A turn begins to run; its key counts until it leaves. */
  enter(taken: Pick<Taken<NewEvent>, 'id' | 'key' | 'lane' | 'item' | 'earlier'>): Visit
  /** The key that turns of this lane will have, on the words of the owner or of somebody else. */
  keyFor(lane: LaneKey, owner: boolean): string
}

interface Holder {
  readonly owner: boolean
  /** Those that run, the latest last. */
  readonly turns: Set<Turn>
}

interface Turn {
  readonly caller: Caller
  readonly over: AbortController
}

const most = { keys: 2000, bytes: 256 * 1024, words: 60_000 }

export function openDesk({ tools, newKey, broke }: DeskParts): Desk {
  const holders = new Map<string, Holder>()
  /** The least recently used first. */
  const keys = new Map<string, string>()

  function keyFor(lane: LaneKey, owner: boolean): string {
    const name = `${owner ? 'owner' : 'guest'} ${lane}`
    const key = keys.get(name) ?? newKey()
    keys.delete(name)
    keys.set(name, key)
    if (!holders.has(key)) holders.set(key, { owner, turns: new Set() })
    forgetSome()
    return key
  }

  /** A process that stays up with a forgotten key is replaced with the next turn. */
  function forgetSome(): void {
    for (const [name, key] of keys) {
      if (keys.size <= most.keys) return
      if (holders.get(key)?.turns.size) continue
      keys.delete(name)
      holders.delete(key)
    }
  }

  const offered = (holder: Holder) => tools.filter(tool => holder.owner || !tool.ownerOnly)

  async function call(key: string, name: string, args: unknown, signal: AbortSignal): Promise<ToolAnswer> {
    const holder = holders.get(key)
    if (!holder)
      return no('The gateway does not know this key (any more). Tools work only in the turn they were given to.')
    const turn = [...holder.turns].at(-1)
    if (!turn) return no('The turn that these tools were given to is over, so nothing was done.')
    const tool = tools.find(one => one.name === name)
    if (!tool) return no(`There is no tool ${JSON.stringify(name.slice(0, 80))}. There are: ${names(offered(holder))}.`)
    if (tool.ownerOnly && !turn.caller.behalf.owner)
      return no(`${name} is for the owner alone, and this turn is on the words of somebody else. Nothing was done.`)
    if (sizeOf(args) > most.bytes) return no(`The arguments are longer than ${most.bytes} bytes. Nothing was done.`)
    const checked = checkArguments(tool.takes, args)
    if (!checked.ok) return no(`${name} was not called: ${checked.why}`)
    try {
      const { ok, text } = await tool.call(checked.args, turn.caller, AbortSignal.any([signal, turn.over.signal]))
      return { ok, text: cut(text) }
    } catch (error) {
      if (turn.over.signal.aborted) return no('The turn ended in the meantime.')
      broke(name, error)
      return no(`${name} failed inside the gateway; its log says why. Trying again at once will hardly help.`)
    }
  }

  return {
    keyFor,
    enter(taken) {
      const behalf = behalfOfAll([...taken.earlier.map(one => one.item), taken.item])
      const key = keyFor(taken.lane, behalf.owner)
      const turn: Turn = { caller: callerOf(taken, behalf), over: new AbortController() }
      const turns = holders.get(key)?.turns
      turns?.add(turn)
      return {
        key,
        leave() {
          turns?.delete(turn)
          turn.over.abort()
        },
      }
    },
    list(key) {
      const holder = holders.get(key)
      return holder ? offered(holder).map(({ call: _, ownerOnly: __, ...tool }): OfferedTool => tool) : null
    },
    call,
  }
}

/** Answered together, they may do together what the least of them may. */
const behalfOfAll = (events: readonly NewEvent[]): Behalf => {
  const all = events.map(behalfOf)
  return all.findLast(one => !one.owner) ?? all.at(-1) ?? { owner: false, person: null }
}

const callerOf = (
  { id, key, lane, item }: Pick<Taken<NewEvent>, 'id' | 'key' | 'lane' | 'item'>,
  behalf: Behalf,
): Caller => ({
  event: id,
  key,
  lane,
  place: item.replyTo,
  behalf,
  agent: item.what.kind === 'assignment' ? item.what.agent : null,
})

const no = (text: string): ToolAnswer => ({ ok: false, text })
const names = (tools: readonly Tool[]) => tools.map(tool => tool.name).join(', ')
const sizeOf = (args: unknown) => Buffer.byteLength(JSON.stringify(args) ?? '')
const cut = (text: string) =>
  text.length <= most.words ? text : `${text.slice(0, most.words)}\n… (cut: it was ${text.length} characters long)`
