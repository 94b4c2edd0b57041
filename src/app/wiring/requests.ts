// Requests for permission: the rules that answer them, and the people who are asked.
import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Turn } from '../../base/agent.ts'
import type { Clicks } from '../../base/buttons.ts'
import type { ChatAdapter, Delivery } from '../../base/chat.ts'
import { type LaneKey, type NewEvent, type Place, principalOfAll } from '../../base/event.ts'
import type { Lanes } from '../../base/lanes.ts'
import type { RequestStore } from '../../base/requests.ts'
import type { Emit, Signal } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import type { ToolUse } from '../../base/tool-use.ts'
import { ownServer } from '../../base/tools.ts'
import { visible } from '../../base/visible.ts'
import type { Config, LiveConfig } from '../../config/index.ts'
import { withChat } from '../../intake/index.ts'
import {
  type Asking,
  createRequests,
  decide,
  listsFor,
  type Permissions,
  rulesIn,
  suggestRule,
  toolsFor,
} from '../../run/index.ts'
import { createRequestMessages, requestButtons } from '../../send/index.ts'
import type { ConversationSettings } from '../../store/index.ts'

export interface RequestsWiringParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  readonly store: RequestStore
  readonly inbox: Lanes<NewEvent>
  readonly permissions: Permissions
  readonly conversationSettings: Pick<ConversationSettings, 'mode'>
  accept(event: NewEvent): Promise<unknown>
  /** Where the owner is reached. */
  ownersPlace(): Place | null
  hide(text: string): string
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly clicks: Pick<Clicks, 'on'>
  readonly outbox: Lanes<Delivery>
  broke(error: unknown): void
}

export function createRequestsWiring(parts: RequestsWiringParts) {
  const { live, clock, emit, store, inbox, permissions, accept, ownersPlace, hide } = parts

  /** They rarely change, and every turn needs them. */
  const lists = new Map<LaneKey, KnownTools>()

  const modeOf = (lane: LaneKey) => parts.conversationSettings.mode(lane) ?? live.current().permissionMode

  /** The owner has chosen these servers, so their tools are not asked for unless a rule says so. */
  const servers = () => [ownServer, ...live.current().mcp.servers.map(({ name }) => name)].map(serverTools)

  function rule(use: ToolUse, { taken: { lane }, folder, askTools }: Asking) {
    const { allowedTools, askTools: asked } = live.current()
    const lists = toolsFor(modeOf(lane), allowedTools, asked)
    return decide(use, {
      ...{ rules: permissions.read().rules, lane, project: folder, folder, home: homedir(), realpath },
      allowedTools: [...lists.allowedTools, ...servers()],
      askTools: [...lists.askTools, ...askTools],
    })
  }

  const requests = createRequests({
    ...{ store, clock, emit, inbox, accept, rule },
    suggest: (use, { folder }) => suggestRule(use, folder),
    async addRule(rule, scope, { lane, folder, answeredBy }) {
      const where = scope === 'conversation' ? { conversation: lane } : scope === 'project' ? { project: folder } : {}
      const by = answeredBy === null ? {} : { by: answeredBy }
      const added = await permissions.add('allow', { rule, ...where, ...by, at: new Date(clock.now()).toISOString() })
      if (!added.ok) emit({ type: 'workspace-trouble', file: 'permissions.json', why: added.why })
    },
    placeFor({ item, earlier }) {
      const isOwners = principalOfAll([...earlier.map(one => one.item), item]).owner
      // In their own conversation; what a job, a guest or a webhook leads to is not theirs.
      return isOwners && item.what.kind === 'message' ? item.replyTo : ownersPlace()
    },
    show: text => visible(hide(text)),
    settings: () => {
      const { timeout, reminder } = live.current().approvals
      return { timeoutMs: timeout, reminderMs: reminder }
    },
  })
  const messages = createRequestMessages({
    ...{ chats: parts.chats, outbox: parts.outbox, requests: requests.admin, broke: parts.broke },
    approvers: () => live.current().approvals.users.map(withChat),
  })
  parts.clicks.on(requestButtons, messages.handle)
  return {
    ...requests,
    listen(signal: Signal): void {
      if ('request' in signal) messages.listen(signal)
    },
    /** Until the signal aborts. A kill may have come between a request and its message, so they are announced again. */
    async run(signal: AbortSignal): Promise<void> {
      await requests.recover()
      await messages.announceAll(store.openSince())
      await requests.run(signal)
    },
    /** The mode of a conversation, and the tools that follow from it and from the rules. */
    toolsOf(lane: LaneKey) {
      const config = live.current()
      const permissionMode = modeOf(lane)
      const read = permissions.read()
      const known = lists.get(lane)
      if (known?.config === config && known.read === read && known.tools.permissionMode === permissionMode)
        return known.tools
      const rules = rulesIn(read.rules, { lane, project: config.configDir })
      const tools = { permissionMode, ...listsFor(permissionMode, config.allowedTools, config.askTools, rules) }
      if (lists.size >= mostLists) lists.clear()
      lists.set(lane, { config, read, tools })
      return tools
    },
  }
}

const mostLists = 1000

interface KnownTools {
  readonly config: Config
  readonly read: ReturnType<Permissions['read']>
  readonly tools: Pick<Turn, 'permissionMode' | 'allowedTools' | 'askTools'>
}

export type RequestsWiring = ReturnType<typeof createRequestsWiring>

/** As claude names them. */
const serverTools = (name: string) => `mcp__${name.replace(/[^\w-]/g, '_')}`

function realpath(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null // There is no such file yet.
  }
}
