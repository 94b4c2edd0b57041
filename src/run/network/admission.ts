// Which places a confined turn may reach: decided by name and port first, and by address once the name is resolved.
import { BlockList, isIP } from 'node:net'

export interface Place {
  /** As `hostIn` writes it. */
  readonly host: string
  readonly port: number
}

export interface Rules {
  /** From the configuration of the backend and its MCP servers: exactly these, also in the own network. */
  readonly configured: readonly Place[]
  /** Entries of GUEST_NETWORK: `host`, `*.host`, `host:port`, `address:port`. */
  readonly listed: readonly string[]
  /** Any public host, on the ports of the web. */
  readonly web: boolean
}

/** `anywhere`: the owner has named this very place. `public`: its name must lead to public addresses only. */
export type Admission = 'anywhere' | 'public'

const webPorts = [80, 443]

/** Null: it is refused. */
export function admit({ host, port }: Place, { configured, listed, web }: Rules): Admission | null {
  const isPlace = (one: Place) => one.host === host && one.port === port
  if (configured.some(isPlace)) return 'anywhere'
  const entries = listed.flatMap(entry => entryIn(entry) ?? [])
  const isEntry = (entry: Entry) =>
    (entry.port === null ? webPorts.includes(port) : entry.port === port) &&
    (entry.below ? host.endsWith(`.${entry.host}`) : entry.host === host)
  // An address says by itself where it leads. Nobody gets there who could not name it in the configuration.
  if (isIP(host) !== 0) return entries.some(entry => !entry.below && isEntry(entry)) ? 'anywhere' : null
  return entries.some(isEntry) || (web && webPorts.includes(port)) ? 'public' : null
}

/** Whether a place that was admitted may be at this address. */
export const mayBeAt = (address: string, admission: Admission): boolean =>
  admission === 'public' ? isPublic(address) : !contains(never, address)

interface Entry {
  readonly host: string
  /** Null: the ports of the web. */
  readonly port: number | null
  /** The names below it, not itself. */
  readonly below: boolean
}

/** Null: it is none. */
export function entryIn(text: string): Entry | null {
  const below = text.startsWith('*.')
  const rest = below ? text.slice(2) : text
  const [, name = rest, port] = /^(.*[^:\]]|\[.*\]):(\d{1,5})$/.exec(isIP(rest) === 6 ? `[${rest}]` : rest) ?? []
  const host = hostIn(isIP(name) === 6 ? `[${name}]` : name)
  if (host === null || (below && isIP(host) !== 0) || Number(port ?? 1) > 65_535 || Number(port ?? 1) < 1) return null
  return { host, port: port === undefined ? null : Number(port), below }
}

/** In lower case, without brackets and the last dot, addresses in their usual form. Null: it is no host. */
export function hostIn(text: string): string | null {
  if (!/^[\w.:[\]-]+$/.test(text)) return null
  try {
    const { hostname } = new URL(`http://${text}/`)
    return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') || null
  } catch {
    return null
  }
}

/** The host and port of `host:port`. Null: it is something else. */
export function placeIn(text: string, usualPort: number | null = null): Place | null {
  const [, name, port] = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = hostIn(name ?? '')
  const number = port === undefined ? usualPort : Number(port)
  return host === null || number === null || number < 1 || number > 65_535 ? null : { host, port: number }
}

/** Where a URL leads. Null: it is none of the web. */
export function placeOfUrl(text: string): Place | null {
  try {
    const { protocol, host } = new URL(text)
    const usual = protocol === 'https:' ? 443 : protocol === 'http:' ? 80 : null
    return usual === null ? null : placeIn(host, usual)
  } catch {
    return null
  }
}

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/** Link-local addresses, among them the metadata services of clouds, and what is no single machine. */
const never = blocks([
  ...['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'],
  ...[
    '::/128',
    'fe80::/10',
    'ff00::/8',
    'fd00:ec2::/32',
    '64:ff9b::/96',
    '::ffff:169.254.0.0/112',
    '::ffff:0.0.0.0/104',
  ],
])

const special = blocks([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
])

/** Of IPv6, only what is assigned to the Internet at all. */
const assigned = blocks(['2000::/3'])

function isPublic(address: string): boolean {
  if (contains(special, address)) return false
  return isIP(address) === 4 || (isIP(address) === 6 && contains(assigned, address))
}

function blocks(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

function contains(list: BlockList, address: string): boolean {
  const kind = isIP(address)
  // Scopes such as fe80::1%eth0, and whatever else is no plain address, are in every list.
  return kind === 0 || address.includes('%') || list.check(address, kind === 6 ? 'ipv6' : 'ipv4')
}
