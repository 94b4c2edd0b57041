// Which profile a turn gets: the owner's, or that of a guest or webhook, with a folder, a home and tools of its own.
import { constants } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { McpServer, Turn } from '../base/agent.ts'
import { type NewEvent, principalOf, principalOfAll } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { guestFolderOf, type LimitedNetwork, type Profile, type WallKind, type WallView } from '../base/profile.ts'
import { ownServer } from '../base/tools.ts'
import { confinedOf } from './backends/index.ts'
import { makeRealFolder } from './box-home.ts'
import { proxyPort } from './network/proxy.ts'
import { toolName } from './tools.ts'
import { isWithin, type Wall } from './wall.ts'

/** The profile of one turn, and the options that follow from it. */
export interface Confinement {
  readonly turn: Pick<Turn, 'allowedTools' | 'workingDir'> & { readonly profile: Profile }
  /** Of what the turn would be given, what it is given with this profile. */
  equip(given: Equipped): Equipped
}

interface Equipped {
  readonly mcpServers: readonly McpServer[]
  readonly words: string
}

export interface ProfileParts {
  readonly workspace: string
  /** The gateway's own state, below the workspace. */
  readonly stateDir: string
  /** The product's own files that its MCP server needs. */
  readonly product: readonly string[]
  /** Resolves soon after the start. */
  wall(): Promise<Wall>
  /** Read for each turn. */
  settings(): {
    readonly guestTools: readonly string[]
    readonly guestMcp: readonly string[]
    readonly guestEnv: readonly string[]
    /** GUEST_NETWORK. */
    readonly guestNetwork: readonly string[]
    /** URLs of the MCP servers that guests may use. */
    readonly guestUrls: readonly string[]
    readonly sandbox: 'off' | 'workspace' | 'project'
    readonly allowedTools: readonly string[]
  }
  /** The folder that SANDBOX=project keeps writes in. */
  readonly project: string
}

export function createProfiles({ workspace, stateDir, product, project, wall, settings }: ProfileParts) {
  const guests = join(workspace, 'guests')

  const runs = new Map<string, boolean>()
  const runsProgram = (backend: string): boolean => {
    const known = runs.get(backend) ?? confinedOf(backend) !== null
    runs.set(backend, known)
    return known
  }

  async function ofOwner(): Promise<Confinement | null> {
    const { sandbox, allowedTools } = settings()
    if (sandbox === 'off') return null
    const { kind, box } = await wall()
    const profile: Profile = {
      principal: 'owner',
      name: 'owner',
      wall: kind,
      box,
      home: null,
      seesAll: true,
      readable: product.map(asIs),
      writable: [workspace, ...(sandbox === 'project' ? [project] : [])],
      hidden: [stateDir],
      variables: null,
      network: null,
    }
    return { turn: { profile, allowedTools, workingDir: workspace }, equip: given => given }
  }

  async function ofGuest(events: readonly NewEvent[], backend: string): Promise<Confinement> {
    const { guestTools, guestMcp, guestEnv, guestNetwork, guestUrls } = settings()
    const { kind, box, network: way } = await wall()
    const { name, principal } = whoseOf(events)
    const allowedTools = toolsFor(guestTools, kind, backend)
    const equip = onlyServers(guestMcp)
    if (kind === 'none')
      return { turn: { profile: { ...noWall, name, principal }, allowedTools, workingDir: workspace }, equip }
    const folder = join(guests, name)
    for (const below of ['.', 'skills', received, ...covered]) makeRealFolder(folder, below)
    // In the box this is mounted: the gateway never writes where a guest can put links.
    const given = kind === 'bwrap' ? join(stateDir, 'given', name) : folder
    makeRealFolder(given, received)
    await takeAttachments(events, workspace, given)
    const mounted = (from: string, below: string) => ({ from: join(from, below), at: join(folder, below) })
    const writes = allowedTools.some(tool => [...changing, ...running].includes(toolName(tool)))
    const profile: Profile = {
      ...{ principal, name, wall: kind, box, seesAll: false },
      home: join(stateDir, 'homes', name),
      readable: [
        ...[...product, ...(writes ? [] : [folder])].map(asIs),
        ...[mounted(workspace, 'skills'), mounted(given, received)],
      ],
      writable: writes ? [folder] : [],
      hidden: covered.map(below => join(folder, below)),
      variables: guestEnv,
      network: way === null ? null : networkFor(guestNetwork, guestUrls, way),
    }
    return {
      turn: { profile, allowedTools, workingDir: folder },
      // A backend that calls the gateway's tools through files would have to write them into the workspace.
      equip: all => ({ mcpServers: equip(all).mcpServers.map(profile.network ? inBox : same), words: '' }),
    }
  }

  return {
    ofOwner,
    of(taken: Pick<Taken<NewEvent>, 'item' | 'earlier'>, backend: string): Promise<Confinement | null> {
      // It runs no program.
      if (!runsProgram(backend)) return Promise.resolve(null)
      const events = [...taken.earlier.map(one => one.item), taken.item]
      return events.every(event => principalOf(event).owner) ? ofOwner() : ofGuest(events, backend)
    },
    /** Which wall stands for whom. */
    async view(): Promise<readonly WallView[]> {
      const { sandbox, guestNetwork } = settings()
      const { kind, detail, network } = await wall()
      const guests = {
        ...({ who: 'guests and webhooks', wall: kind, detail: wordsFor(kind, detail) } as const),
        ...networkView(guestNetwork, kind, network !== null),
      }
      const owner = { who: 'owner', network: 'reaches what this machine can reach', networkLimited: false } as const
      if (sandbox === 'off') return [{ ...owner, wall: 'none', detail: 'not confined (SANDBOX=off)' }, guests]
      const only = `can write to the ${sandbox} only (SANDBOX=${sandbox})`
      return [{ ...owner, wall: kind, detail: only }, guests]
    },
  }
}

const asIs = (path: string) => ({ from: path, at: path })

const noWall = {
  ...({ wall: 'none', box: '', home: null, seesAll: true } as const),
  ...{ readable: [], writable: [], hidden: [], variables: null, network: null },
}

/** Null: not limited. */
function networkFor(
  network: readonly string[],
  urls: readonly string[],
  { perl }: NonNullable<Wall['network']>,
): LimitedNetwork | null {
  if (network.includes('open')) return null
  const hosts = network.filter(entry => !['model', 'web'].includes(entry))
  return { perl, urls, hosts, web: network.includes('web') }
}

function networkView(
  network: readonly string[],
  kind: WallKind,
  possible: boolean,
): Pick<WallView, 'network' | 'networkLimited'> {
  const limited = networkFor(network, [], { perl: null })
  const open = 'can reach what this machine can reach, also services on 127.0.0.1'
  if (limited === null) return { network: `${open} (GUEST_NETWORK=open)`, networkLimited: false }
  if (kind !== 'bwrap') return { network: `${open}: only bubblewrap can limit that`, networkLimited: false }
  if (!possible) return { network: `${open}: bubblewrap cannot give them a network here`, networkLimited: false }
  const { web, hosts } = limited
  const named = [...(web ? ['public hosts of the web'] : []), ...hosts]
  return { network: `can reach only ${['their model', ...named].join(', ')}`, networkLimited: true }
}

const same = (server: McpServer): McpServer => server

/** In a box with its own network, the gateway is where the forwarder listens. */
const inBox = (server: McpServer): McpServer =>
  server.name === ownServer && 'command' in server
    ? { ...server, env: { ...server.env, AETHEEL_URL: `http://127.0.0.1:${proxyPort}` } }
    : server

function wordsFor(kind: WallKind, detail: string): string {
  switch (kind) {
    case 'bwrap':
      return `run in a box of their own (bubblewrap, ${detail})`
    case 'flags':
      return `held by the CLI's own flags, without tools that run commands or leave their folder: ${detail}`
    case 'none':
      return 'no wall: they run with the rights of the gateway (WALL=none)'
    default:
      return kind satisfies never
  }
}

const onlyServers =
  (names: readonly string[]) =>
  ({ mcpServers, words }: Equipped): Equipped => ({
    mcpServers: mcpServers.filter(({ name }) => name === ownServer || names.includes(name)),
    words,
  })

const reading = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']
const changing = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit']
const running = ['Bash']

/** The tools that stay safe with this wall and this CLI. */
export function toolsFor(tools: readonly string[], wall: WallKind, backend: string): readonly string[] {
  const confined = confinedOf(backend)
  if (wall === 'none' || confined === null) return tools
  const ofFiles = [...reading, ...changing]
  if (wall === 'flags') {
    const unsafe = [...running, 'Task', ...(confined.heldByFlags ? [] : ofFiles)]
    return tools.filter(tool => !unsafe.includes(toolName(tool)))
  }
  // Who may run commands can read the login of the CLI anyway.
  if (confined.staysInFolder || tools.includes('Bash')) return tools
  return tools.filter(tool => !ofFiles.includes(toolName(tool)))
}

/** Folders from which CLIs load settings and code. In the box they are empty and stay so. */
const covered = ['.claude', '.codex', '.gemini', '.opencode', '.pi', '.agents']

/** Where files that people sent are, in the workspace and in the folder of a guest. */
const received = join('files', 'in')

/** Who it is for. When words of several guests are batched, none of them may find what another one left. */
function whoseOf(events: readonly NewEvent[]): Pick<Profile, 'name' | 'principal'> {
  const name = (guestFolderOf(events) ?? '').slice('guests/'.length)
  return { principal: principalOfAll(events).person === null ? 'webhook' : 'guest', name }
}

/** The folder of a guest does not contain what they sent, so it is copied, with the same relative path. */
async function takeAttachments(events: readonly NewEvent[], workspace: string, given: string): Promise<void> {
  for (const { what } of events)
    for (const { path, missing } of ('attachments' in what ? what.attachments : undefined) ?? []) {
      if (missing !== undefined || !isWithin(join(given, path), join(given, received))) continue
      makeRealFolder(given, dirname(path))
      // Already there, or removed from the workspace.
      await copyFile(join(workspace, path), join(given, path), constants.COPYFILE_EXCL).catch(() => undefined)
    }
}
