// What Codex asks before it does it: commands, changes of files, tools of MCP servers; and the answers it understands.
import { type Ask, canonicalJson, type ToolUse, type Verdict } from '../../base/tool-use.ts'
import type { Asks } from '../asks.ts'
import { later, type Rpc, type RpcRequest } from '../rpc.ts'
import { type Json, object, string } from '../stdio.ts'
import { workOf } from '../tool-work.ts'
import { commandIn, fileRead } from './codex-commands.ts'
import { changesIn } from './codex-items.ts'

/** Everything has to be allowed before codex is told so: a change of several files is a question for each of them. */
export interface Wanted {
  readonly uses: readonly ToolUse[]
  /** By use. */
  readonly inputs: readonly Json[]
  readonly accepted: Json
  readonly declined: Json
}

/** The items that a question may be about; all threads of the process. */
export function createItems() {
  const items = new Map<string, Json>()
  return {
    notified(method: string, { item }: Json): void {
      const { id, type } = object(item)
      if (type !== 'fileChange' && type !== 'mcpToolCall') return
      if (method === 'item/started') items.set(string(id), object(item))
      if (method === 'item/completed') items.delete(string(id))
    },
    get: (id: string): Json => items.get(id) ?? {},
  }
}

/** Null: this is nothing that can be asked. */
export function wantedBy(method: string, params: Json, item: (id: string) => Json): Wanted | null {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return decided(commandWanted(params))
    case 'item/fileChange/requestApproval': {
      const { changes } = item(string(params.itemId))
      const all = changesIn({ changes })
      const inputs = all.map(({ path, diff }) => ({ path, diff }))
      return all.length === 0 ? null : decided({ uses: all.map(({ use }) => use), inputs })
    }
    case 'mcpServer/elicitation/request': {
      const { codex_approval_kind: kind, tool_params: input } = object(params._meta)
      const name = /run tool "(.+)"\?$/.exec(string(params.message))?.[1]
      if (kind !== 'mcp_tool_call' || name === undefined) return null
      const tool = `mcp__${string(params.serverName)}__${name}`
      const answer = (action: string) => ({ action, content: action === 'accept' ? {} : null, _meta: null })
      return {
        uses: [{ tool, work: workOf(tool, object(input)) }],
        inputs: [{ tool, input }],
        accepted: answer('accept'),
        declined: answer('decline'),
      }
    }
    default:
      return null
  }
}

const decided = (wanted: Pick<Wanted, 'uses' | 'inputs'>): Wanted => ({
  ...wanted,
  accepted: { decision: 'accept' },
  declined: { decision: 'decline' },
})

function commandWanted(params: Json): Pick<Wanted, 'uses' | 'inputs'> {
  const { kind, command, cwd, reason, networkApprovalContext } = params
  // Text for a program that runs already, or access to a host: shown as it comes.
  if ((kind ?? 'command') !== 'command' || string(command) === '' || networkApprovalContext) {
    const input = { kind, command, cwd, reason, networkApprovalContext }
    return { uses: [{ tool: 'Bash', work: workOf('', input) }], inputs: [input] }
  }
  const script = commandIn(string(command))
  const file = fileRead(script, string(cwd))
  const use: ToolUse =
    file === null
      ? { tool: 'Bash', work: workOf('Bash', { command: script }) }
      : { tool: 'Read', work: workOf('Read', { path: file }) }
  return { uses: [use], inputs: [{ command, cwd }] }
}

/** One request of codex that people are asked about. */
export function askAbout(wanted: Wanted, params: Json, request: RpcRequest, asks: Asks, rpc: Rpc): typeof later {
  const ids = idsOf(request.id, wanted.uses.length)
  let left = wanted.uses.length
  const decline = async (words: string) => {
    for (const id of ids) asks.withdraw(id)
    // A refusal has no words in this protocol. They are added to the turn, so that the model reads them right after it.
    const { threadId, turnId: expectedTurnId } = params
    const input = [{ type: 'text', text: words, text_elements: [] }]
    await rpc.request('turn/steer', { threadId, expectedTurnId, input })
    request.reply({ result: wanted.declined })
  }
  const settle = (use: ToolUse, verdict: Verdict) => {
    if (!verdict.allow) void decline(refusal(use, verdict.message))
    else if (--left === 0) request.reply({ result: wanted.accepted })
  }
  wanted.uses.forEach((use, i) => {
    const ask: Ask = { id: ids[i] ?? '', kind: 'tool', use, input: canonicalJson(wanted.inputs[i] ?? null) }
    asks.ask(ask, verdict => settle(use, verdict))
  })
  return later
}

/** All ids under which a request was asked. It may have become several questions, and codex does not say how many. */
export const idsOf = (request: unknown, count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => (i === 0 ? `${request}` : `${request}.${i}`))

const refusal = ({ tool, work }: ToolUse, words: string): string => {
  const what = work.kind === 'command' ? work.command : work.kind === 'edit' ? work.path : tool
  return `[Gateway: not allowed: ${what.length > 200 ? `${what.slice(0, 200)}…` : what}]\n${words}`
}
