// Gateways started with bin/aetheel, and what the benchmarks ask of one.
import { spawn } from 'node:child_process'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join, resolve } from 'node:path'
import { type Client, connect, type Frame } from '../test/harness/client.ts'
import { type Home, makeHome, token } from '../test/harness/gateway.ts'

export const root = resolve(import.meta.dirname, '..')
/** The Node that bin/aetheel uses. */
export const node = [join(root, 'node_modules/.bin/node')].find(existsSync) ?? process.execPath
export const standIn = join(import.meta.dirname, 'stand-in.sh')
export const echo = { AGENT_BACKEND: 'echo' }
export const fastAgent = {
  AGENT_BACKEND: 'claude',
  BACKEND_CLI_PATH: standIn,
  BACKEND_WARM: 'false',
  ASK_TOOLS: 'none',
}

export interface Gateway {
  readonly url: string
  readonly pid: number
  /** From the start of the process until /healthz had answered 200. */
  readonly startMs: number
  stop(): Promise<void>
}

/** The log goes to a file, as under a service manager, and is shown when the start fails. */
export async function launch(
  home: Home,
  env: Readonly<Record<string, string>>,
  command: readonly [string, ...string[]] = [join(root, 'bin/aetheel')],
): Promise<Gateway> {
  const log = join(home.dir, 'gateway.log')
  const [file, ...args] = command
  const began = performance.now()
  const child = spawn(file, [...args, 'start'], {
    cwd: home.dir,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home.dir,
      CONFIG_DIR: home.configDir,
      HTTP_TOKEN: token,
      HTTP_PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', openSync(log, 'a', 0o600)],
  })
  // An interrupted benchmark ends its gateways.
  const end = () => child.kill()
  process.on('exit', end)
  const exit = new Promise<void>(done => child.on('close', () => done()))
  void exit.then(() => process.off('exit', end))
  const url = await new Promise<string>((ready, fail) => {
    let said = ''
    child.on('error', fail)
    child.stdout?.on('data', chunk => {
      said += chunk
      const link = /WebChat {2}(http:\S+)\/chat/.exec(said)?.[1]
      if (link) ready(link)
    })
    void exit.then(() => fail(new Error(`the gateway ended before it was ready:\n${readFileSync(log, 'utf8')}`)))
  })
  const status = await statusOf(`${url}/healthz`)
  const startMs = performance.now() - began
  if (status !== 200) throw new Error(`/healthz answered ${status}`)
  return {
    url,
    pid: child.pid ?? 0,
    startMs,
    async stop() {
      child.kill('SIGTERM')
      await exit
    },
  }
}

const statusOf = (url: string) =>
  new Promise<number>((done, fail) => {
    get(url, { agent: false }, response => {
      response.resume()
      response.on('end', () => done(response.statusCode ?? 0))
    }).on('error', fail)
  })

/** A temporary folder, removed in any case; `use` gets it after a first start. */
export async function withHome<T>(use: (home: Home) => Promise<T>): Promise<T> {
  const home = await makeHome()
  try {
    await (await launch(home, echo)).stop()
    return await use(home)
  } finally {
    await home.remove()
  }
}

export async function withGateway<T>(
  home: Home,
  env: Readonly<Record<string, string>>,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const gateway = await launch(home, env)
  try {
    return await use(gateway)
  } finally {
    await gateway.stop()
  }
}

export interface Exchange {
  /** By performance.now(): when it was sent, when `accepted` came, when `final` came. */
  readonly sent: number
  readonly accepted: number
  readonly final: number
  readonly text: string
}

export interface Talk {
  say(text: string): Promise<Exchange>
  close(): Promise<void>
}

/** One message at a time; the times are taken as the frames arrive. */
export async function talk({ url }: Gateway, conversation: string): Promise<Talk> {
  let heard: (frame: Frame) => void = () => undefined
  const client: Client = await connect(url, conversation, frame => heard(frame))
  let count = 0
  return {
    say: text =>
      new Promise((done, fail) => {
        const id = `m${count++}-${process.pid}`
        let accepted = Number.NaN
        heard = frame => {
          if (frame.id !== id) return
          if (frame.type === 'accepted') accepted = performance.now()
          if (frame.type === 'refused' || (frame.type === 'final' && frame.ok !== true))
            fail(new Error(`no answer: ${frame.reason ?? frame.text}`))
          if (frame.type === 'final') done({ sent, accepted, final: performance.now(), text: frame.text ?? '' })
        }
        const sent = performance.now()
        client.say(id, text)
      }),
    close: client.close,
  }
}

export const pause = (ms: number) => new Promise<void>(done => setTimeout(done, ms))
