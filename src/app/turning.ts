// One turn: what the agent is told, who is asked, and what it is given to work with.
import { randomUUID } from 'node:crypto'
import { agentOf } from '../base/agents.ts'
import type { ChatAdapter } from '../base/chat.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import {
  assemble,
  capabilities,
  composePrompt,
  describeSender,
  type openWorkspace,
  recallHistory,
  timeLine,
  wordsOf,
} from '../prompt/index.ts'
import { type openSubAgents, openTurns, type Route, withWords } from '../run/index.ts'
import { openDrafts } from '../send/index.ts'
import type { Keeper } from '../store/index.ts'
import { sampleTurn } from './backends.ts'
import type { Ledgers } from './ledgers.ts'
import type { LiveConfig } from './live.ts'
import type { openTelling } from './telling.ts'
import type { openTooling } from './tooling.ts'
import type { Waking } from './waking.ts'

const historyHandedOver = { messages: 40, characters: 24_000 }

export interface TurningParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly tell: Tell
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly ledgers: Pick<Ledgers, 'sessions' | 'history' | 'conversations'>
  readonly route: Route
  readonly workspace: ReturnType<typeof openWorkspace>
  readonly keeper: Pick<Keeper, 'attend' | 'noteFor'>
  readonly equipment: ReturnType<typeof openTooling>['equipment']
  readonly subagents: Pick<ReturnType<typeof openSubAgents>, 'live'>
  readonly hook: Waking['hook']
  readonly told: ReturnType<typeof openTelling>['told']
}

export function openTurning(parts: TurningParts) {
  const { live, clock, tell, route, workspace, keeper, equipment, subagents } = parts
  const { sessions, history, conversations } = parts.ledgers
  const { configDir } = live.current()
  const openDraft = openDrafts(parts.chats, clock, tell)

  const systemPrompt = async (_: unknown, backend: string) => {
    const [sections, skills] = await Promise.all([workspace.read(), workspace.skills()])
    const { allowedTools } = live.current()
    return assemble(sections, {
      capabilities: capabilities({ configDir, allowedTools, gateway: equipment.told(backend) }),
      skills,
    })
  }

  const takeTurn = openTurns({
    route,
    sessions,
    clock,
    chance: Math.random,
    tell,
    newSessionId: randomUUID,
    settings: () => {
      const { agent, allowedTools, permissionMode, query } = live.current()
      return {
        maxTurns: agent.maxTurns,
        allowedTools,
        permissionMode,
        workingDir: configDir,
        silenceMs: query.timeoutMs,
        ceilingMs: query.maxMs,
        timezone: () => live.current().timezone,
      }
    },
    systemPrompt,
    equip: equipment.equip,
    hook: parts.hook,
    attend: keeper.attend,
    compose: ({ event, earlier, history: said, resumed, interrupted }) =>
      composePrompt({
        text: wordsOf(event),
        time: timeLine(clock.now(), live.wall),
        collected: earlier.map(wordsOf),
        interrupted,
        note: keeper.noteFor(event.lane),
        history: recallHistory(
          said.map(({ role, text, at, sender }) => ({
            ...{ role: role === 'user' ? 'person' : 'agent', text, at },
            ...(sender && { who: describeSender(sender) }),
          })),
          historyHandedOver.characters,
          resumed ? 'since' : 'all',
        ),
      }),
    isCut: ({ id, lane }) => conversations.freshFrom(lane) >= id,
    history: (lane, after) =>
      history.answered(lane, Math.max(after, conversations.freshFrom(lane)), historyHandedOver.messages),
    openLive: taken => (agentOf(taken.lane) === null ? openDraft(taken) : subagents.live(taken)),
    letters: parts.told,
  })

  return {
    takeTurn,
    /** The latest conversation finds its backend up already. */
    async prewarm() {
      const latest = sessions.latest()
      if (!latest) return
      const [{ backend, model }] = route(latest.lane, 'message')
      const session = await sessions.find(latest.lane, backend.name)
      if (!session) return
      const { mcpServers, words } = equipment.ahead(latest.lane, backend.name)
      const turn = {
        ...sampleTurn(live.current()),
        model,
        mcpServers,
        systemPrompt: withWords(await systemPrompt(null, backend.name), words),
      }
      await backend.prepare({ ...turn, session: { id: session.id, resume: true } })
    },
  }
}
