// The gateway itself is paused for a while, as by SIGSTOP or a closed lid, while the agents continue.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pause } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { type Home, makeHome, type RunningGateway, startGateway } from '../harness/gateway.ts'

let home: Home
let gateway: RunningGateway
beforeEach(async () => {
  home = await makeHome()
})
afterEach(async () => {
  await gateway.stop()
  await home.remove()
})

test.each(['true', 'false'])(
  'output that waited in the pipe during the pause counts as a sign of life (BACKEND_WARM=%s)',
  async warm => {
    gateway = await startGateway(home, {
      ...{ BACKEND_WARM: warm, QUERY_TIMEOUT_MS: '2000', BACKEND_ENV: 'STAND_IN_STEP_MS', STAND_IN_STEP_MS: '100' },
    })
    const client = await connect(gateway.url, 'room')
    client.say('m', '[[long:20]]')
    await expect.poll(() => home.journal().length).toBe(1)
    gateway.child.kill('SIGSTOP')
    await pause(4000)
    gateway.child.kill('SIGCONT')
    expect(await client.final('m')).toMatchObject({ ok: true, text: expect.stringContaining('word word') })
    // The silence timeout starts over: a silent turn is still ended.
    client.say('n', '[[hang]]')
    expect((await client.final('n')).text).toMatch(/^Timed out/)
  },
)
