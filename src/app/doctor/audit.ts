// `aetheel security audit`: who may speak, what they can do, what listens, and which files others can read. Also a part of `aetheel doctor`.
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Check } from '../../base/check.ts'
import { counted } from '../../base/counted.ts'
import type { WallView } from '../../base/profile.ts'
import type { Config, Loaded } from '../../config/index.ts'
import type { InstalledCli } from '../../run/index.ts'
import { remoteChatsOn } from '../wiring/chat-names.ts'
import { fileChecks } from './audit-files.ts'

export interface AuditParts {
  readonly loaded: Loaded
  readonly configDir: string
  readonly home: string
  /** Which wall stands for whom. */
  readonly walls: readonly WallView[]
  readonly clis: readonly InstalledCli[]
  /** Corrects what can be corrected without asking, such as modes of files. */
  readonly fix: boolean
}

export async function auditChecks(parts: AuditParts): Promise<readonly Check[]> {
  const { loaded } = parts
  const files = await fileChecks({ ...parts, secrets: loaded.ok ? loaded.secrets : [] })
  if (!loaded.ok) return files
  const { config } = loaded
  return [
    ...speakerChecks(config),
    ...powerChecks(config, parts.walls, await hasWebhooks(parts.configDir)),
    ...networkChecks(config),
    ...versionChecks(parts.clis),
    ...files,
  ]
}

const hasWebhooks = async (configDir: string): Promise<boolean> =>
  /^##[ \t]+webhooks[ \t]*$/im.test(await readFile(join(configDir, 'agents.md'), 'utf8').catch(() => ''))

/** Whether anybody but the owner can write to the agent. */
const hasGuests = (config: Config): boolean => remoteChatsOn(config).length > 0

function speakerChecks(config: Config): readonly Check[] {
  const { owners, users, roles, channels, guilds } = config.views.gate
  const name = 'access'
  if (!hasGuests(config))
    return [{ name, status: 'ok', detail: 'only you, with the token or a login: no chat with other people is on' }]
  const listed = [
    ...[counted(owners.length, 'owner'), counted(users.length, 'user'), counted(roles.length, 'role')],
    ...[counted(channels.length, 'channel'), counted(guilds.length, 'server')],
  ]
  const checks: Check[] = [
    { name, status: 'ok', detail: `${listed.join(', ')}, and whoever you approved (\`npx aetheel pair list\`)` },
  ]
  const wide = [...(guilds.length > 0 ? ['ALLOWED_GUILDS'] : []), ...(channels.length > 0 ? ['ALLOWED_CHANNELS'] : [])]
  if (wide.length > 0)
    checks.push({
      name,
      status: 'warn',
      detail: `${wide.join(' and ')} let everybody in who joins there, also people you do not know`,
      fix: 'List people in ALLOWED_USERS, or approve them one by one.',
    })
  const stars = Object.entries({ OWNERS: owners, ALLOWED_USERS: users, ALLOWED_ROLES: roles }).filter(([, ids]) =>
    ids.some(id => id === '*' || id.endsWith(':*')),
  )
  for (const [option] of stars)
    checks.push({
      name,
      status: 'warn',
      detail: `${option} contains *, which is no id and admits nobody`,
      fix: 'Remove it.',
    })
  const { dailyUsd, dailyTokens, personUsd } = config.budget
  if (dailyUsd === null && dailyTokens === null && personUsd === null)
    checks.push({
      name: 'budget',
      status: 'warn',
      detail: `none: a guest may cause ${config.guest.turnsPerHour || 'any number of'} turns in an hour, whatever they cost`,
      fix: 'Set BUDGET_PERSON_USD or BUDGET_DAILY_USD.',
    })
  return checks
}

function powerChecks(config: Config, walls: AuditParts['walls'], webhooks: boolean): readonly Check[] {
  const { allowedTools, permissionMode, mcp, guest } = config
  const servers = mcp.servers.map(({ name }) => name)
  const check = (principal: 'owner' | 'guest' | 'webhook', counts: boolean): Check => {
    const own = principal === 'owner'
    const named = own ? servers : servers.filter(name => guest.mcp.includes(name))
    const tools = own ? allowedTools : guest.tools
    const view = walls.find(({ who }) => (who === 'owner') === own)
    const detail = [
      tools.join(', ') || 'no tools',
      ...(named.length > 0 ? [`MCP servers ${named.join(', ')}`] : []),
      ...(own ? [permissionMode] : []),
      view?.detail ?? 'no wall: it runs with your rights',
      ...(view ? [view.network] : []),
    ].join('; ')
    if (!counts)
      return { name: principal, status: 'off', detail: principal === 'guest' ? 'there are none' : 'there is none' }
    if (own) return { name: principal, status: 'ok', detail }
    if (view && view.wall !== 'none')
      return view.networkLimited ? { name: principal, status: 'ok', detail } : { name: principal, ...unlimited, detail }
    const shell = tools.some(tool => /^Bash\b/.test(tool))
    return {
      name: principal,
      status: shell ? 'fail' : 'warn',
      detail,
      fix: shell
        ? 'Whoever may speak has a shell with your rights. Remove Bash from GUEST_TOOLS, or set WALL=auto.'
        : 'Set WALL=auto, or let in only people you trust with these tools.',
    }
  }
  return [check('owner', true), check('guest', hasGuests(config)), check('webhook', webhooks)]
}

/** Nothing is asked of the network: what is compared is what this release was tested with. */
function versionChecks(clis: readonly InstalledCli[]): readonly Check[] {
  const name = 'cli versions'
  if (clis.length === 0) return [{ name, status: 'off', detail: 'no agent CLI is installed' }]
  const shown = clis.map(({ name, version, tested, isOlder }) =>
    isOlder ? `${name} ${version} (older than ${tested})` : `${name} ${version ?? '(its files do not say which)'}`,
  )
  const detail = `${shown.join(', ')}; compared with the versions that this release was tested with`
  return clis.some(({ isOlder }) => isOlder)
    ? [{ name, status: 'warn', detail, fix: 'Update the older ones: what holds guests depends on their flags.' }]
    : [{ name, status: 'ok', detail }]
}

/** A service without a password is open to whoever can make the agent call it. */
const unlimited = {
  status: 'warn',
  fix: 'With bubblewrap and GUEST_NETWORK=model, they reach nothing but their model.',
} as const

function networkChecks({ http }: Config): readonly Check[] {
  const name = 'network'
  const isLocal =
    http.host === 'localhost' || http.host === '::1' || (isIP(http.host) === 4 && http.host.startsWith('127.'))
  const names = http.names.length === 0 ? '' : `; also as ${http.names.join(', ')}`
  const detail = `listens on ${http.host}, port ${http.port || 'any'}${names}`
  if (isLocal) return [{ name, status: 'ok', detail }]
  return [
    {
      name,
      status: 'warn',
      detail: `${detail}: other machines can reach it, and what they send is not encrypted`,
      fix: 'Listen on 127.0.0.1 and use an SSH tunnel, or a proxy with TLS.',
    },
  ]
}
