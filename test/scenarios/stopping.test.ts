// Stopping: in order after one signal, immediately after two, and never with anything left behind.
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { eventually, exitOf, temporaryHome, unaccounted } from '../fakes/temporary.ts'
import { connect } from '../harness/client.ts'
import { processesWith } from '../harness/gateway.ts'

describe.concurrent('asked to stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`by ${signal} while a turn runs, it refuses new messages, delivers the answer and exits with 0`, async ({
      expect,
    }) => {
      await using home = await temporaryHome()
      const first = await home.start()
      const client = await connect(first.url, 'talk')
      client.say('running', 'finish this [[tool:1200]]')
      await client.next(frame => frame.type === 'action')
      client.say('waiting', 'and then this')
      await client.next(frame => frame.type === 'accepted' && frame.id === 'waiting')
      first.child.kill(signal)
      await eventually('the stop', () => first.output().includes('"msg":"stopping"'))
      client.say('late', 'and this?')
      expect((await client.next(frame => frame.type === 'refused')).reason).toMatch(/^Stopping: .*try again/)
      expect((await client.final('running')).text).toBe('turn 1: finish this [[tool:1200]]')
      expect(await client.closed).toMatchObject({ code: 1001 })
      expect(await exitOf(first)).toBe(0)
      expect(processesWith(home.dir)).toEqual([])
      expect(existsSync(join(home.configDir, '.aetheel', 'gateway.json'))).toBe(false)
      expect(home.begun()).toHaveLength(1)

      const second = await home.start()
      const back = await connect(second.url, 'talk')
      expect((await back.final('waiting')).text).toBe('turn 2: and then this')
      expect(back.frames.filter(frame => frame.type === 'final').map(frame => frame.id)).toEqual(['waiting'])
      expect(home.begun().map(run => run.prompt)).toEqual(['finish this [[tool:1200]]', 'and then this'])
      expect(await unaccounted(second)).toBe(0)
    })

  test('it waits for a long run, interrupts it, and resumes it at the next start', async ({ expect }) => {
    await using home = await temporaryHome()
    const first = await home.start({ STOP_TIMEOUT_MS: '500' })
    const client = await connect(first.url, 'slow')
    client.say('1', 'I never end [[grandchild]] [[hang]]')
    await eventually('the run', () => home.journal().some(entry => entry.what === 'grandchild'))
    const asked = performance.now()
    first.child.kill('SIGTERM')
    expect(await exitOf(first)).toBe(0)
    expect(performance.now() - asked).toBeGreaterThan(450)
    expect(processesWith(home.dir)).toEqual([])
    expect(client.frames.some(frame => frame.type === 'final')).toBe(false)

    await home.start()
    await eventually('the second run', () => home.begun().length === 2)
    const [before, after] = home.begun()
    expect(after).toMatchObject({ session: before?.session, resumed: true })
    expect(after?.prompt).toMatch(/turn on the last message above was interrupted/)
    // The session already has the message, so it is not sent again.
    expect(after?.prompt).not.toContain('I never end')
    expect(after?.about).toContain('I never end')
  })

  test('a run that ignores the request is killed after its grace period, and the exit code is still 0', async ({
    expect,
  }) => {
    await using home = await temporaryHome()
    const gateway = await home.start({ STOP_TIMEOUT_MS: '0' })
    const client = await connect(gateway.url)
    client.say('1', 'I do not listen [[ignoreterm]] [[hang]]')
    await client.next(frame => frame.type === 'draft')
    await eventually('the run', () => home.begun().length === 1)
    gateway.child.kill('SIGTERM')
    expect(await exitOf(gateway)).toBe(0)
    expect(processesWith(home.dir)).toEqual([])
  })

  test('twice, it exits immediately, with a code other than 0 and without child processes', async ({ expect }) => {
    await using home = await temporaryHome()
    const gateway = await home.start({ STOP_TIMEOUT_MS: '600000' })
    const client = await connect(gateway.url)
    client.say('1', 'hold on [[ignoreterm]] [[grandchild]] [[hang]]')
    await eventually('the run', () => home.journal().some(entry => entry.what === 'grandchild'))
    gateway.child.kill('SIGTERM')
    await eventually('the stop', () => gateway.output().includes('"msg":"stopping"'))
    gateway.child.kill('SIGTERM')
    expect(await exitOf(gateway)).toBe(1)
    await eventually('no process', () => processesWith(home.dir).length === 0)
    const again = await home.start()
    const back = await connect(again.url)
    back.say('2', 'and I am back')
    expect((await back.final('2')).ok).toBe(true)
  })

  test('it stops in order even if the disk refuses the clean-up', async ({ expect }) => {
    await using home = await temporaryHome()
    const gateway = await home.start({ AGENT_BACKEND: 'echo' })
    const note = join(home.configDir, '.aetheel', 'gateway.json')
    rmSync(note)
    // A folder cannot be removed like a file, even by root.
    mkdirSync(note)
    expect(await gateway.stop()).toBe(0)
    expect(gateway.output()).toContain('"msg":"stopped"')
    expect(existsSync(join(home.configDir, '.aetheel', 'aetheel.db-wal'))).toBe(false)
  })

  test('with nothing to do, it exits, even with a client that does not read', async ({ expect }) => {
    await using home = await temporaryHome()
    const gateway = await home.start()
    const deaf = await connect(gateway.url)
    deaf.socket.pause()
    gateway.child.kill('SIGTERM')
    expect(await exitOf(gateway)).toBe(0)
    expect(processesWith(home.dir)).toEqual([])
    deaf.socket.terminate()
  })
})
