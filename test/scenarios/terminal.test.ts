// `aetheel chat` with the whole gateway: an answer shown there counts as delivered and is not sent again.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../harness/client.ts'
import { type Home, makeHome, type RunningGateway, runCommand, startGateway, token } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway

beforeAll(async () => {
  home = await makeHome()
  gateway = await startGateway(home, { AGENT_BACKEND: 'echo' })
})
afterAll(async () => {
  await gateway.stop()
  await home.remove()
})

const deliveries = async () => {
  const answer = await fetch(`${gateway.url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
  return ((await answer.json()) as { deliveries: { sent: number; waiting: number } }).deliveries
}

test('an answer printed by a one-shot chat counts as delivered, time after time', async () => {
  for (let i = 1; i <= 10; i++) {
    const run = runCommand(home, ['chat', ...(i % 2 === 0 ? ['--json'] : []), `question ${i}`])
    expect(await run.exit).toBe(0)
    expect(run.stdout()).toContain(`question ${i}`)
    // An undelivered answer would wait for the next connection.
    await expect.poll(deliveries).toMatchObject({ sent: i, waiting: 0 })
  }
  const next = await connect(gateway.url, 'terminal')
  await next.next(frame => frame.type === 'history')
  expect(next.frames.filter(frame => frame.type === 'final')).toEqual([])
  await next.close()
})

test('without a running gateway the temporary one delivers its answer too', async () => {
  const alone = await makeHome()
  try {
    const run = runCommand(alone, ['chat', 'all by myself'], { AGENT_BACKEND: 'echo' })
    expect(await run.exit).toBe(0)
    const later = await startGateway(alone, { AGENT_BACKEND: 'echo' })
    const client = await connect(later.url, 'terminal')
    const history = await client.next(frame => frame.type === 'history')
    expect(history.messages).toHaveLength(2)
    expect(client.frames.filter(frame => frame.type === 'final')).toEqual([])
    await client.close()
    await later.stop()
  } finally {
    await alone.remove()
  }
})
