// The owner of the campaign: answers what agents ask at random, later, or while the gateway is down, and checks that tools ran only
// when they were allowed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Request } from '../../src/base/requests.ts'
import { type Home, runCommand, token } from '../harness/gateway.ts'
import { decide, requestsOf } from '../harness/requests.ts'

export interface AnswersOptions {
  readonly home: Home
  /** Null while no gateway is known. */
  url(): string | null
  chance(): number
  readonly finish: AbortSignal
}

export interface Answers {
  /** Sometimes answers a request while the gateway is down. */
  whileDown(): Promise<void>
  /** What was asked and became of it; call it at the end, with a running gateway. */
  trouble(url: string): Promise<{ readonly asked: number; readonly ran: number; readonly broken: readonly string[] }>
  readonly over: Promise<void>
}

/** Twice the same: each use needs an answer of its own. */
export const asking = (id: string) => `[[ask:Bash:echo ${id} >> ~/ran]] [[ask:Bash:echo ${id} >> ~/ran]] ${id}`

export function answerAsks({ home, url, chance, finish }: AnswersOptions): Answers {
  /** Requests that an allowing answer was sent for, whatever became of it. */
  const allowing = new Set<number>()
  /** Answers that were confirmed. */
  const confirmed = new Map<number, boolean>()
  let open: readonly Request[] = []

  function choose(id: number): boolean {
    const allow = chance() < 0.6
    if (allow) allowing.add(id)
    return allow
  }

  async function answer(gateway: { readonly url: string }, id: number): Promise<void> {
    const allow = choose(id)
    const status = await decide(gateway, id, allow ? { allow } : { allow, message: 'not this one' })
    if (status === 200) confirmed.set(id, allow)
  }

  const life = async () => {
    while (!finish.aborted) {
      const target = url()
      if (target !== null)
        try {
          open = await requestsOf({ url: target })
          // Two at the same moment: only one of the answers may count.
          for (const { id } of open)
            if (chance() < 0.4)
              await Promise.all(
                chance() < 0.1
                  ? [answer({ url: target }, id), answer({ url: target }, id)]
                  : [answer({ url: target }, id)],
              )
        } catch {
          // It was killed meanwhile.
        }
      await new Promise(resolve => setTimeout(resolve, 20 + chance() * 80))
    }
  }

  return {
    async whileDown() {
      const one = open.find(({ id }) => !confirmed.has(id))
      if (!one || chance() >= 0.5) return
      const allow = choose(one.id)
      const command = runCommand(home, ['approvals', allow ? 'allow' : 'deny', String(one.id)])
      if ((await command.exit) === 0) confirmed.set(one.id, allow)
    },

    async trouble(target) {
      const all = await everyRequest(target)
      const lines = existsSync(join(home.dir, 'ran')) ? readFileSync(join(home.dir, 'ran'), 'utf8').split('\n') : []
      const ran = lines.filter(Boolean)
      const allowedFor = countBy(all.filter(({ state }) => state === 'allowed').map(messageOf))
      const broken = all.flatMap(request => {
        const { id, state } = request
        const said = confirmed.get(id)
        return [
          ...(state === 'open' ? [`request ${id} (${messageOf(request)}) has no end`] : []),
          ...(state === 'allowed' && !allowing.has(id) ? [`request ${id} was allowed by nobody`] : []),
          ...(said !== undefined && state !== (said ? 'allowed' : 'denied')
            ? [`request ${id} is ${state} although it was ${said ? 'allowed' : 'denied'}`]
            : []),
        ]
      })
      for (const id of confirmed.keys())
        if (!all.some(one => one.id === id)) broken.push(`request ${id} was answered and is not on disk`)
      for (const [message, times] of countBy(ran)) {
        const allowed = allowedFor.get(message) ?? 0
        if (times > allowed)
          broken.push(`the command of ${message} ran ${times} times and was allowed ${allowed} times`)
      }
      return { asked: all.length, ran: ran.length, broken }
    },

    over: life(),
  }
}

const messageOf = ({ ask }: Request): string =>
  (ask.kind === 'tool' && ask.use.work.kind === 'command' && /^echo (\S+)/.exec(ask.use.work.command)?.[1]) || ''

const countBy = (all: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const one of all) counts.set(one, (counts.get(one) ?? 0) + 1)
  return counts
}

async function everyRequest(url: string): Promise<readonly Request[]> {
  const all: Request[] = []
  for (;;) {
    const before = all.at(-1)?.id
    const query = before === undefined ? '' : `&before=${before}`
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/api/requests?state=all${query}`, { headers })
    const { requests } = (await answer.json()) as { requests: readonly Request[] }
    if (requests.length === 0) return all
    all.push(...requests)
  }
}
