// One turn: the agent's prompt, the backend that is asked, and the tools it gets.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Verbosity } from '../../base/agent.ts'
import type { ChatAdapter } from '../../base/chat.ts'
import { agentOf, type LaneKey, type NewEvent } from '../../base/event.ts'
import type { Taken } from '../../base/lanes.ts'
import { guestFolderOf, isConfined } from '../../base/profile.ts'
import type { Emit } from '../../base/signal.ts'
import type { Clock } from '../../base/time.ts'
import { oncePerZone } from '../../base/zone.ts'
import type { LiveConfig } from '../../config/index.ts'
import {
  assemble,
  capabilities,
  composePrompt,
  type createWorkspace,
  describeSpeaker,
  markOf,
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
  type Steering,
  toolAccessOf,
  withWords,
} from '../../run/index.ts'
import { createDrafts } from '../../send/index.ts'
import type { FileGuard } from '../../store/index.ts'
import { createCalls, createEquipment, createToolServer, createTools, type ToolPorts } from '../../tools/index.ts'
import { sampleTurn } from './backends.ts'
import type { createReplies } from './chats.ts'
import type { RequestsWiring } from './requests.ts'
import type { Stores } from './stores.ts'
import type { Triggers } from './triggers.ts'
import type { Walls } from './walls.ts'

/** The turn runs on the words of the owner alone. */
const isOwners = ({ item, earlier }: Taken<NewEvent>) => guestFolderOf([...earlier.map(one => one.item), item]) === null

const historyHandedOver = { messages: 40, characters: 24_000 }

export interface TurnWiringParts {
  readonly live: LiveConfig
  readonly clock: Clock
  readonly emit: Emit
  readonly chats: ReadonlyMap<string, ChatAdapter>
  readonly stores: Pick<Stores, 'sessions' | 'history' | 'conversationSettings'>
  readonly walls: Walls
  readonly route: Route
  readonly cooldowns: Cooldowns
  readonly workspace: ReturnType<typeof createWorkspace>
  readonly fileGuard: Pick<FileGuard, 'guardTurn' | 'noteFor'>
  readonly equipment: ReturnType<typeof createToolWiring>['equipment']
  readonly subagents: Pick<ReturnType<typeof openSubAgents>, 'live'>
  readonly hook: Triggers['hook']
  readonly requests: RequestsWiring
  readonly steering: Pick<Steering, 'turns'>
  verbosityOf(lane: LaneKey): Verbosity
  readonly followUpsOf: ReturnType<typeof createReplies>['followUpsOf']
}

export function createTurnWiring(parts: TurnWiringParts) {
  const { live, clock, emit, route, workspace, fileGuard, equipment, subagents } = parts
  const { sessions, history, conversationSettings } = parts.stores
  const { configDir } = live.current()
  const openDraft = createDrafts(parts.chats, clock, emit, lane => parts.verbosityOf(lane) === 'quiet')
  /** Then a guest's turn cannot write where the file guard would have to look. */
  const guestsAreBoxed = () => parts.walls.view().some(({ who, wall }) => who !== 'owner' && wall === 'bwrap')

  let described = { key: '', words: '' }
  /** It is nearly always the same as in the turn before. */
  function capabilitiesFor(backend: string, guest: boolean, confinement: Confinement | null): string {
    const { allowedTools, askTools } = live.current()
    const { allowedTools: allowed, workingDir } = confinement?.turn ?? { allowedTools, workingDir: configDir }
    const asked = guest ? [] : askTools.filter(tool => !allowed.includes(tool))
    const gateway = equipment.promptAccess(backend)
    const key = JSON.stringify([workingDir, allowed, asked, guest, gateway])
    if (key !== described.key) {
      const shown = { configDir: workingDir, allowedTools: [...allowed, ...asked], askTools: asked, guest, gateway }
      described = { key, words: capabilities(shown) }
    }
    return described.words
  }

  const systemPrompt = async (_: unknown, backend: string, confinement: Confinement | null) => {
    const [sections, skills] = await Promise.all([workspace.read(), workspace.skills()])
    const guest = isConfined(confinement?.turn.profile)
    return assemble(sections, {
      capabilities: capabilitiesFor(backend, guest, confinement),
      skills,
      withoutMemory: guest && !live.current().guest.memory,
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
    settings: lane => {
      const { agent, query } = live.current()
      return {
        maxTurns: agent.maxTurns,
        ...parts.requests.toolsOf(lane),
        workingDir: configDir,
        silenceMs: query.timeoutMs,
        ceilingMs: query.maxMs,
        timezone: () => live.current().timezone,
      }
    },
    systemPrompt,
    // Most turns are the owner's own, without a sandbox.
    confine: async (taken, backend) =>
      isOwners(taken) && live.current().sandbox === 'off' ? null : parts.walls.profiles.of(taken, backend),
    equip: equipment.equip,
    requests: parts.requests,
    steerable: parts.steering.turns,
    hook: parts.hook,
    guardTurn: taken => fileGuard.guardTurn(taken, !isOwners(taken) && guestsAreBoxed()),
    compose: ({ event, earlier, received, history: messages, resumed, interrupted, requests }) => {
      const mark = markOf(randomBytes(10).toString('hex'))
      return composePrompt({
        text: received === 'all' ? '' : wordsOf(event, mark),
        received: received !== 'nothing',
        time: timeLine(clock.now(), live.wall),
        collected: earlier.map(one => wordsOf(one, mark)),
        interrupted,
        note: [fileGuard.noteFor(event.lane), requests].filter(one => one !== null).join('\n\n') || null,
        history:
          messages.length === 0
            ? ''
            : recallHistory(
                messages.map(({ role, text, at, speaker }) => ({
                  ...{ role: role === 'user' ? 'person' : 'agent', text, at },
                  ...(speaker && { who: describeSpeaker(speaker) }),
                })),
                historyHandedOver.characters,
                resumed ? 'since' : 'all',
              ),
      })
    },
    wasReset: ({ id, lane }) => conversationSettings.freshFrom(lane) >= id,
    history: (lane, after) =>
      history.answered(lane, Math.max(after, conversationSettings.freshFrom(lane)), historyHandedOver.messages),
    openLive: taken => (agentOf(taken.lane) === null ? openDraft(taken) : subagents.live(taken)),
    followUpsOf: parts.followUpsOf,
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
      const confinement = await parts.walls.profiles.ofOwner()
      const turn = {
        ...sampleTurn(live.current()),
        ...confinement?.turn,
        ...parts.requests.toolsOf(latest.lane),
        model,
        mcpServers,
        systemPrompt: withWords(await systemPrompt(null, backend.name, confinement), words),
      }
      await backend.prepare({ ...turn, session: { id: session.id, resume: true } })
    },
  }
}

// The gateway's own tools, and how agents get access to them.

export interface ToolingParts extends Omit<ToolPorts, 'formatTime'> {
  readonly live: LiveConfig
  readonly emit: Emit
  readonly bridge: { readonly command: string; readonly args: readonly string[] }
  readonly address: { readonly url: string }
  broke(tool: string, error: unknown): void
}

export function createToolWiring({ live, emit, bridge, address, broke, ...ports }: ToolingParts) {
  const toolServer = createToolServer({
    tools: createTools({ ...ports, formatTime: dateFormat(() => live.current().timezone) }),
    newKey: () => randomBytes(32).toString('base64url'),
    broke,
  })
  const calls = createCalls({
    workspace: live.current().configDir,
    toolServer,
    trouble: error => emit({ type: 'workspace-trouble', file: 'ipc/calls', why: String(error) }),
  })
  const equipment = createEquipment({
    toolServer,
    calls,
    servers: () => live.current().mcp.servers,
    own: () => live.current().mcp.own,
    accessOf: toolAccessOf,
    bridge,
    address,
  })
  return { toolServer, equipment }
}

/** With date and year, since these times may be far away. */
function dateFormat(own: () => string): (ms: number, zone: string | null) => string {
  const format = oncePerZone(
    { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
    'en-GB',
  )
  return (ms, zone) => format(zone ?? own()).format(ms)
}
