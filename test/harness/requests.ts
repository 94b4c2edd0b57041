// What agents ask people, over the API of a running gateway.
import type { Decision, Request } from '../../src/base/requests.ts'
import { pause } from '../fakes/temporary.ts'
import { type Home, token } from './gateway.ts'

interface Running {
  readonly url: string
}

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

export async function requestsOf({ url }: Running, which: 'open' | 'all' = 'open'): Promise<readonly Request[]> {
  const answer = await fetch(`${url}/api/requests?state=${which}`, { headers })
  return ((await answer.json()) as { requests: readonly Request[] }).requests
}

/** The first open request whose shown form has these words. */
export async function asked(gateway: Running, words = '', ms = 15_000): Promise<Request> {
  for (const until = performance.now() + ms; performance.now() < until; await pause(20)) {
    const found = (await requestsOf(gateway)).find(({ ask }) => JSON.stringify(ask).includes(words))
    if (found) return found
  }
  throw new Error(`nobody was asked about ${words} within ${ms} ms`)
}

export async function decide({ url }: Running, id: number, decision: Decision): Promise<number> {
  const body = JSON.stringify({ id, ...decision })
  return (await fetch(`${url}/api/requests`, { method: 'POST', headers, body })).status
}

/** The commands that the fake CLI has run. */
export const ranIn = (home: Pick<Home, 'journal'>): readonly string[] =>
  home.journal().flatMap(({ what, command }) => (what === 'ran' ? [String(command)] : []))
