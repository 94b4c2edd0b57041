// The gateway is killed or stopped while the agent asks: the request stays, its answer is used once, and nothing runs without one.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { eventually, exitOf, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { processesWith, runCommand } from '../harness/gateway.ts'
import { asked, decide, ranIn, requestsOf } from '../harness/requests.ts'

describe.concurrent('while it asks', () => {
  test('killed and started again, it asks for the same; the answer passes once', async ({ expect }) => {
    await using home = await temporaryHome()
    const file = join(home.dir, 'ran')
    const first = await home.start()
    const before = await connect(first.url, 'killed')
    before.say('1', `[[ask:Bash:echo ran >> ${file}]]`)
    const { id } = await asked(first)
    await first.stop('SIGKILL')

    const second = await home.start()
    const client = await connect(second.url, 'killed')
    await eventually('it asks again', () => home.begun().length === 2)
    expect(home.begun()[1]?.prompt).toContain('before the interruption you asked to use Bash')
    expect(existsSync(file)).toBe(false)
    expect((await asked(second)).id).toBe(id)
    await decide(second, id, { allow: true })
    expect((await client.final('1')).ok).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe('ran\n')
    expect((await requestsOf(second, 'all')).map(({ state }) => state)).toEqual(['allowed'])
    expect(await unaccounted(second)).toBe(0)
    await client.close()
  })

  test('killed, and answered before the agent has asked again: it is told, and what was allowed runs once', async ({
    expect,
  }) => {
    await using home = await temporaryHome()
    const file = join(home.dir, 'ran')
    const first = await home.start()
    const before = await connect(first.url, 'meanwhile')
    before.say('1', `[[ask:Bash:echo ran >> ${file}]] [[ask:Bash:echo ran >> ${file}]]`)
    const { id } = await asked(first)
    await first.stop('SIGKILL')
    // Nobody runs: the answer goes straight into the database.
    const allowed = runCommand(home, ['approvals', 'allow', String(id)])
    expect({ code: await allowed.exit, said: allowed.stderr() }).toEqual({ code: 0, said: '' })

    const second = await home.start()
    const client = await connect(second.url, 'meanwhile')
    // The second use is the same command, and needs its own answer.
    const next = await asked(second)
    expect(next.id).not.toBe(id)
    expect(home.begun()[1]?.prompt).toContain('It was allowed meanwhile, but not done yet')
    expect(readFileSync(file, 'utf8')).toBe('ran\n')
    await decide(second, next.id, { allow: false, message: 'once is enough' })
    expect((await client.final('1')).text).toContain('once is enough')
    expect(ranIn(home)).toHaveLength(1)
    await client.close()
  })

  test('killed, and denied before the next start: the agent gets the words, and nothing runs', async ({ expect }) => {
    await using home = await temporaryHome()
    const file = join(home.dir, 'ran')
    const first = await home.start()
    const before = await connect(first.url, 'denied')
    before.say('1', `[[ask:Bash:touch ${file}]]`)
    const { id } = await asked(first)
    await first.stop('SIGKILL')
    await runCommand(home, ['approvals', 'deny', String(id), '--reason', 'not on this disk']).exit

    const second = await home.start()
    const client = await connect(second.url, 'denied')
    expect((await client.final('1')).text).toContain('not on this disk')
    expect(home.begun()[1]?.prompt).toContain('It was not allowed, and nothing of it was done')
    expect(existsSync(file)).toBe(false)
    expect(await requestsOf(second)).toEqual([])
    await client.close()
  })

  test('asked to stop, it does not wait for people, leaves no process, and asks again after the next start', async ({
    expect,
  }) => {
    await using home = await temporaryHome()
    const file = join(home.dir, 'ran')
    const first = await home.start()
    const before = await connect(first.url, 'term')
    before.say('1', `[[ask:Bash:echo ran >> ${file}]]`)
    const { id } = await asked(first)
    first.child.kill('SIGTERM')
    expect(await exitOf(first)).toBe(0)
    expect(processesWith(home.dir)).toEqual([])
    expect(before.frames.some(({ type }) => type === 'final')).toBe(false)

    const second = await home.start()
    const client = await connect(second.url, 'term')
    expect((await asked(second)).id).toBe(id)
    await decide(second, id, { allow: true })
    expect((await client.final('1')).ok).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe('ran\n')
    await client.close()
  })
})
