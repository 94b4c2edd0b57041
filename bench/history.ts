// Whether a turn costs more with a long history: two gateways alternate, one with little and one with much history.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Home } from '../test/harness/gateway.ts'
import { type Figure, median, ms, percentile, times } from './figures.ts'
import { fastAgent, pause, type Talk, talk, withGateway, withHome } from './rig.ts'

const turns = 220
const budget = 1.2
const conversation = 'present'

interface Past {
  readonly events: number
  readonly lanes: number
  /** How many of the events belong to the conversation that is continued. */
  readonly ofOurs: number
}

const young: Past = { events: 1000, lanes: 20, ofOurs: 5 }
const old: Past = { events: 1_000_000, lanes: 20_000, ofOurs: 5000 }

export async function historyFigures(): Promise<readonly Figure[]> {
  return withHome(few =>
    withHome(async many => {
      fillPast(few, young)
      fillPast(many, old)
      return withGateway(few, fastAgent, a =>
        withGateway(many, fastAgent, async b => {
          const [one, other] = [await talk(a, conversation), await talk(b, conversation)]
          const [little, much] = await takeTurns(one, other)
          await Promise.all([one.close(), other.close()])
          const shown = (samples: readonly number[]) => `${ms(median(samples))} (p95 ${ms(percentile(samples, 0.95))})`
          const ratio = median(much) / median(little)
          return [
            {
              name: 'a turn after 1,000,000 finished events',
              value: `${shown(much)} = ${times(ratio)}`,
              baseline: `after 1,000: ${shown(little)}`,
              budget: `≤ ${budget}×`,
              ok: ratio <= budget,
            },
          ]
        }),
      )
    }),
  )
}

async function takeTurns(one: Talk, other: Talk): Promise<readonly [readonly number[], readonly number[]]> {
  const samples: [number[], number[]] = [[], []]
  const turn = async (chat: Talk, into: number[], counts: boolean) => {
    const { sent, final } = await chat.say('at once')
    if (counts) into.push(final - sent)
    await pause(5)
  }
  for (let i = 0; i < turns; i++) {
    await turn(one, samples[0], i >= 20)
    await turn(other, samples[1], i >= 20)
  }
  return samples
}

/** Written directly, in the gateway's format: each event with its answer, and each conversation with its session. */
export function fillPast(home: Home, { events, lanes, ofOurs }: Past): void {
  const db = new DatabaseSync(join(home.configDir, '.aetheel/aetheel.db'))
  try {
    db.exec('PRAGMA cache_size = -1000000; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN')
    const numbers = `WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${2 * events - 1})`
    const mine = `i / 2 % ${Math.floor(events / ofOurs)} = 0`
    const who = `iif(${mine}, '${conversation}', 'past-' || (i / 2 % ${lanes}))`
    const when = `${Date.now()} - ${2 * events} + i`
    db.exec(`
      ${numbers}, told AS (SELECT i, i / 2 AS n, ${who} AS who FROM numbers)
      INSERT INTO items (queue, lane, key, state, body, at, attempts, ended_at)
      SELECT
        iif(i % 2 = 0, 'in', 'out'),
        'webchat:' || who,
        'webchat:' || who || ':past-' || n || iif(i % 2 = 0, '', '#final'),
        'done',
        iif(i % 2 = 0,
          json_object('key', 'webchat:' || who || ':past-' || n, 'lane', 'webchat:' || who,
            'what', json_object('kind', 'message', 'id', 'past-' || n, 'text', 'What was it that I said?',
              'author', json_object('id', 'owner', 'name', 'owner', 'owner', json('true'))),
            'replyTo', json_object('chat', 'webchat', 'conversation', who), 'source', 'webchat'),
          json_object('place', json_object('chat', 'webchat', 'conversation', who), 'kind', 'final',
            'about', 'past-' || n, 'text', 'You said that it would be so.', 'ok', json('true'))),
        ${when}, 1, ${when}
      FROM told;
      ${numbers}
      INSERT INTO sessions (lane, backend, session, confirmed, updated_at)
      SELECT 'webchat:past-' || i, 'claude', '00000000-0000-4000-8000-' || printf('%012d', i), 1, 0 FROM numbers WHERE i < ${lanes};
      COMMIT`)
  } finally {
    db.close()
  }
}
