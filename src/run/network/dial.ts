// Connects the gateway to an admitted place: to the very addresses that were checked, or through the proxy of this machine.
import { lookup as resolve } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { type Admission, mayBeAt, type Place, placeIn } from './admission.ts'

export interface Dialling {
  /** All addresses of a name. Rejects if there are none. */
  lookup(host: string): Promise<readonly string[]>
  /** The environment with the proxy settings of this machine. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

export const addressesOf: Dialling['lookup'] = async host =>
  (await resolve(host, { all: true })).map(({ address }) => address)

const patienceMs = 20_000

/** Rejects with a sentence for the program in the box. */
export async function dial(place: Place, admission: Admission, { lookup, environment }: Dialling): Promise<Socket> {
  const proxy = proxyFor(place.host, environment)
  // That proxy resolves the name, so its address cannot be judged here.
  if (proxy !== null) return through(proxy, place)
  const addresses = isIP(place.host) === 0 ? await lookup(place.host) : [place.host]
  if (addresses.length === 0 || !addresses.every(address => mayBeAt(address, admission)))
    throw new Error('this name leads to an address that guests may not reach')
  return connected(place.port, addresses)
}

function connected(port: number, addresses: readonly string[]): Promise<Socket> {
  const { connect } = process.getBuiltinModule('node:net')
  return settled(
    connect({
      ...{ host: 'checked', port, autoSelectFamily: true },
      // A name that changes in the meantime makes no difference.
      lookup: (_, { all }, answer) => {
        const found = addresses.map(address => ({ address, family: isIP(address) }))
        if (all) answer(null, found)
        else answer(null, found[0]?.address ?? '', found[0]?.family ?? 4)
      },
    }),
  )
}

function settled(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => socket.destroy(new Error('it did not answer')), patienceMs)
    socket.once('error', reject)
    socket.once('close', () => clearTimeout(late))
    socket.once('connect', () => {
      clearTimeout(late)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

/** Null: it is reached directly. */
function proxyFor(host: string, environment: Dialling['environment']): URL | null {
  const value = (name: string) => environment[name.toLowerCase()] || environment[name] || ''
  const text = value('HTTPS_PROXY') || value('HTTP_PROXY')
  const isExempt = value('NO_PROXY')
    .split(',')
    .map(entry =>
      entry
        .trim()
        .toLowerCase()
        .replace(/^\*?\./, ''),
    )
    .some(entry => entry === '*' || (entry !== '' && (host === entry || host.endsWith(`.${entry}`))))
  if (text === '' || isExempt || host === 'localhost' || host.startsWith('127.') || host === '::1') return null
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  return url?.protocol === 'http:' ? url : null
}

function through(proxy: URL, { host, port }: Place): Promise<Socket> {
  const { request } = process.getBuiltinModule('node:http')
  const at = placeIn(proxy.host, 80)
  const login = decodeURIComponent(`${proxy.username}:${proxy.password}`)
  const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return new Promise((resolve, reject) => {
    const asked = request({
      ...{ host: at?.host, port: at?.port, method: 'CONNECT', path, timeout: patienceMs },
      headers: {
        host: path,
        ...(proxy.username ? { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` } : {}),
      },
    })
    asked.on('timeout', () => asked.destroy(new Error('the proxy of this machine did not answer')))
    asked.on('error', reject)
    asked.on('response', () => asked.destroy(new Error('the proxy of this machine refused')))
    asked.on('connect', ({ statusCode }, socket, head) => {
      if (statusCode === 200) {
        socket.setTimeout(0)
        if (head.length > 0) socket.unshift(head)
        resolve(socket as Socket)
      } else {
        socket.destroy()
        reject(new Error('the proxy of this machine refused'))
      }
    })
    asked.end()
  })
}
