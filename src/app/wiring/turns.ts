// One turn: the agent's prompt, the backend that is asked, and the tools it gets.
import { randomUUID } from 'node:crypto'
import type { ChatAdapter } from '../../base/chat.ts'
import { isConfined } from '../../base/profile.ts'
import type { Emit } from '../../base/signal.ts'
import { agentOf } from '../../base/subagents.ts'
import type { Clock } from '../../base/time.ts'
import type { LiveConfig } from '../../config/index.ts'
import {
  assemble,
  capabilities,
  composePrompt,
  type createWorkspace,
  describeSpeaker,
  recallHistory,
  timeLine,
  wordsOf,
} from '../../prompt/index.ts'
import {
  type Confinement,
  type Cooldowns,
  createTurns,
  hasRoomForTurn,
  type openSubAgents,
  type Route,
  withWords,
} from '../../run/index.ts'
import { createDrafts } from '../../send/index.ts'
import type { FileGuard } from '../../store/index.ts'
import { sampleTurn } from './backends.ts'
import type { createReplies } from './replies.ts'
import type { Stores } from './stores.ts'
import type { createToolWiring } from './tools.ts'
import type { Triggers } from './triggers.ts'
import type { Walls } from './walls.ts'

const historyHandedOver = { messages: 40, characters: 24_000 }

export interface TurningParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly stores: Pick<Stores, 'sessions' | 'history' | 'conversationSettings'>
  readonly profiles: Walls['profiles']
  readonly route: Route
  readonly cooldowns: Cooldowns
  readonly workspace: ReturnType<typeof createWorkspace>
  readonly fileGuard: Pick<FileGuard, 'attend' | 'noteFor'>
  readonly equipment: ReturnType<typeof createToolWiring>['equipment']
  readonly subagents: Pick<ReturnType<typeof openSubAgents>, 'live'>
  readonly hook: Triggers['hook']
  readonly followUpsOf: ReturnType<typeof createReplies>['followUpsOf']
}

export function createTurnWiring(parts: TurningParts) {
  const { live, clock, emit, route, workspace, fileGuard, equipment, subagents } = parts
  const { sessions, history, conversationSettings } = parts.stores
  const { configDir } = live.current()
  const openDraft = createDrafts(parts.chats, clock, emit)

  const systemPrompt = async (_: unknown, backend: string, confinement: Confinement | null) => {
    const [sections, skills] = await Promise.all([workspace.read(), workspace.skills()])
    const { allowedTools, workingDir } = confinement?.turn ?? { ...live.current(), workingDir: configDir }
    const guest = isConfined(confinement?.turn.profile)
    return assemble(sections, {
      capabilities: capabilities({
        ...{ configDir: workingDir, allowedTools, guest },
        gateway: equipment.promptAccess(backend),
      }),
      skills,
    })
  }

  const takeTurn = createTurns({
    route,
    cooldowns: parts.cooldowns,
    sessions,
    clock,
    chance: Math.random,
    hasRoom: hasRoomForTurn,
    emit,
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
    confine: parts.profiles.of,
    equip: equipment.equip,
    hook: parts.hook,
    attend: fileGuard.attend,
    compose: ({ event, earlier, received, history: messages, resumed, interrupted }) =>
      composePrompt({
        text: received === 'all' ? '' : wordsOf(event),
        received: received !== 'nothing',
        time: timeLine(clock.now(), live.wall),
        collected: earlier.map(wordsOf),
        interrupted,
        note: fileGuard.noteFor(event.lane),
        history: recallHistory(
          messages.map(({ role, text, at, speaker }) => ({
            ...{ role: role === 'user' ? 'person' : 'agent', text, at },
            ...(speaker && { who: describeSpeaker(speaker) }),
          })),
          historyHandedOver.characters,
          resumed ? 'since' : 'all',
        ),
      }),
    isCut: ({ id, lane }) => conversationSettings.freshFrom(lane) >= id,
    history: (lane, after) =>
      history.answered(lane, Math.max(after, conversationSettings.freshFrom(lane)), historyHandedOver.messages),
    openLive: taken => (agentOf(taken.lane) === null ? openDraft(taken) : subagents.live(taken)),
    deliveries: parts.followUpsOf,
  })

  return {
    takeTurn,
    /** Starts the backend of the latest conversation ahead of time. */
    async prewarm() {
      const latest = sessions.latest()
      if (!latest) return
      const [{ backend, model }] = route(latest.lane, 'message')
      const session = await sessions.find(latest.lane, backend.name)
      if (!session) return
      const { mcpServers, words } = equipment.ahead(latest.lane, backend.name)
      const confinement = await parts.profiles.ofOwner()
      const turn = {
        ...sampleTurn(live.current()),
        ...confinement?.turn,
        model,
        mcpServers,
        systemPrompt: withWords(await systemPrompt(null, backend.name, confinement), words),
      }
      await backend.prepare({ ...turn, session: { id: session.id, resume: true } })
    },
  }
}
