// What every backend that asks keeps to, cold and warm: nothing that is asked for runs before somebody allows it, and then it runs once.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { AgentEvent, Ended, Turn } from '../../src/base/agent.ts'
import { canonicalJson, type Verdict } from '../../src/base/tool-use.ts'
import { grammar, home, journal, never, open, programs, turn, type Way } from './backend.suite.ts'

type Asking = Extract<AgentEvent, { type: 'asks' }>
type Steerable = Extract<AgentEvent, { type: 'steerable' }>

/** Asks for the second of two calls only after the answer to the first, reports no output, and takes nothing back. */
const isBrief = (name: string) => name === 'gemini'

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))
const endsWith = (words: string) => expect.stringMatching(`word [^]*${words}$`)
const deny = (message: string): Verdict => ({ allow: false, message })

for (const way of ['cold', 'warm'] as const)
  describe.each(programs)(`the backend %s, ${way}, asks`, name => {
    const stage = () => openStage(name, way)

    test('what is allowed runs once, and is shown with its command, its output and its exit code', async () => {
      const { run, path } = stage()
      const command = `echo once >> ${path}; echo seen; exit 3`
      const { end, asked, actions } = await run(`[[ask:Bash:${command}]]`, () => ({ allow: true }))
      expect(end).toMatchObject({ ok: true, text: expect.stringContaining('seen') })
      expect(asked).toMatchObject([
        { kind: 'tool', use: { tool: 'Bash', work: { kind: 'command', command: expect.stringContaining(command) } } },
      ])
      const [ask] = asked
      if (ask?.kind === 'tool') expect(canonicalJson(JSON.parse(ask.input))).toBe(ask.input)
      expect(ask?.kind === 'tool' && ask.input).toContain(command)
      expect(readFileSync(path, 'utf8')).toBe('once\n')
      expect(actions.flatMap(({ use }) => use?.work ?? [])).toMatchObject([{ kind: 'command' }])
      const results = actions.flatMap(({ result }) => result ?? [])
      if (!isBrief(name)) expect(results.map(({ output }) => output).join()).toContain('seen')
      for (const { exit } of results) expect([3, null]).toContain(exit)
    })

    test('what is denied does not run, and the model reads why', async () => {
      const { run, path } = stage()
      const { end, asked } = await run(`[[ask:Bash:touch ${path}]]`, () => deny('Use the “other” folder.'))
      expect(asked).toHaveLength(1)
      expect(end).toMatchObject({ ok: true, text: expect.stringContaining('Use the “other” folder.') })
      expect(existsSync(path)).toBe(false)
    })

    test('the same is asked for again each time', async () => {
      const { run, path } = stage()
      const one = `[[ask:Bash:echo x >> ${path}]]`
      const { asked } = await run(`${one}${one}`, (_, n) => (n === 0 ? { allow: true } : deny('once is enough')))
      expect(asked).toHaveLength(2)
      expect(new Set(asked.map(({ id }) => id)).size).toBe(2)
      expect(readFileSync(path, 'utf8')).toBe('x\n')
    })

    test('two at once are answered independently, in any order', async () => {
      const { run, path } = stage()
      const waiting: Asking[] = []
      const { end } = await run(`[[askboth:touch ${path}-a|touch ${path}-b]]`, event => {
        waiting.push(event)
        if (waiting.length < (isBrief(name) ? 1 : 2)) return null
        for (const { ask, answer } of waiting.splice(0).reverse())
          answer(JSON.stringify(ask).includes(`${path}-a`) ? deny('not a') : { allow: true })
        return null
      })
      expect(end).toMatchObject({ ok: true, text: expect.stringContaining('not a') })
      expect([existsSync(`${path}-a`), existsSync(`${path}-b`)]).toEqual([false, true])
    })

    test('the first answer counts', async () => {
      const { run, path } = stage()
      await run(`[[ask:Bash:touch ${path}]]`, event => {
        event.answer(deny('no'))
        return { allow: true }
      })
      expect(existsSync(path)).toBe(false)
    })

    test('stopped while it asks: it does not run, also not with an answer that comes too late, and the next turn works', async () => {
      const { run, path } = stage()
      const stop = new AbortController()
      let late: Asking | null = null
      const { end } = await run(
        `[[ask:Bash:touch ${path}]]`,
        event => {
          late = event
          setTimeout(() => stop.abort(), 30)
          return null
        },
        {},
        stop.signal,
      )
      expect(end).toMatchObject({ ok: false, why: 'stopped' })
      ;(late as Asking | null)?.answer({ allow: true })
      await pause(300)
      expect(existsSync(path)).toBe(false)
      expect((await run('and now', () => null)).end).toMatchObject({ ok: true })
    })

    test('killed while it asks: it does not run', async () => {
      const { run, path, mark } = stage()
      let late: Asking | null = null
      const { end } = await run(`[[ask:Bash:touch ${path}]]`, event => {
        late = event
        const begun = journal().findLast(entry => entry.what === 'begin' && entry.prompt.includes(mark))
        process.kill(begun!.pid, 'SIGKILL')
        return null
      })
      expect(end).toMatchObject({ ok: false, why: 'crashed' })
      ;(late as Asking | null)?.answer({ allow: true })
      await pause(100)
      expect(existsSync(path)).toBe(false)
    })

    test('it ends while it asks: the turn has failed, and it does not run', async () => {
      const { run, path } = stage()
      const { end } = await run(`[[askdie:touch ${path}]]`, () => null)
      expect(end).toMatchObject({ ok: false, why: 'crashed' })
      expect(existsSync(path)).toBe(false)
    })

    if (!isBrief(name) && name !== 'opencode')
      test('a question that it takes back is withdrawn, and an answer does nothing any more', async () => {
        const { run, path } = stage()
        const waiting: Asking[] = []
        const { end, events } = await run(`[[askgone:touch ${path}]] [[listen:300]]`, event => {
          waiting.push(event)
          return null
        })
        expect(end).toMatchObject({ ok: true })
        const gone = events.filter(event => event.type === 'withdrawn').map(({ id }) => id)
        expect(gone).toEqual(waiting.map(({ ask }) => ask.id))
        for (const { answer } of waiting) answer({ allow: true })
        await pause(100)
        expect(existsSync(path)).toBe(false)
      })

    test('what a sub-agent wants to do is asked for, too', async () => {
      const { run, path } = stage()
      const { asked } = await run(`[[asksub:touch ${path}]]`, () => deny('not even there'))
      expect(asked).toHaveLength(1)
      expect(existsSync(path)).toBe(false)
    })

    test('without tools to ask for nothing is asked: what is allowed runs, the rest does not', async () => {
      const { run, path } = stage()
      const none = { askTools: [] }
      const denied = await run(`[[ask:Bash:touch ${path}]]`, () => ({ allow: true }), none)
      expect(denied).toMatchObject({ end: { ok: true }, asked: [] })
      expect(existsSync(path)).toBe(false)
      const allowed = await run(`[[ask:Bash:touch ${path}]]`, () => null, { ...none, allowedTools: ['Bash'] })
      expect(allowed).toMatchObject({ end: { ok: true }, asked: [] })
      expect(existsSync(path)).toBe(true)
    })

    test('words that are added while it runs reach the turn, if it says that it can be steered', async () => {
      const { run } = stage()
      let steerable: Steerable | null = null
      let taken: Promise<boolean> = Promise.resolve(false)
      const { end } = await run(
        '[[listen:2000]]',
        () => null,
        {},
        never,
        event => {
          if (event.type !== 'steerable') return
          steerable = event
          taken = event.steer('And hurry.')
        },
      )
      expect(end).toMatchObject({ ok: true })
      if (steerable === null) return
      expect(await taken).toBe(true)
      expect(end.ok && end.text).toContain('And hurry.')
      expect(await (steerable as Steerable).steer('Too late.')).toBe(false)
    })

    test('words that it reads only after its answer belong to the turn, and the next turn is not disturbed', async () => {
      const { run, mark } = stage()
      let taken: Promise<boolean> | null = null
      const { end } = await run(
        '[[long:100]]',
        () => null,
        {},
        never,
        event => {
          if (event.type === 'steerable') taken = event.steer('And hurry.')
        },
      )
      expect(end).toMatchObject({ ok: true })
      // The others read everything before they answer, or did not take it.
      if (name.startsWith('claude')) expect([await taken, end.ok && end.text]).toEqual([true, endsWith('And hurry.')])
      const next = await run('after that', () => null)
      expect(next.end).toMatchObject({ ok: true, text: expect.stringContaining(`after that ${mark}`) })
    })
  })

function openStage(name: string, way: Way) {
  const backend = open(name, way)
  const mark = crypto.randomUUID()
  let session: Turn['session'] = backend.takesSessionIds ? { id: crypto.randomUUID(), resume: false } : null

  /** One turn of the conversation; an answer that is null is not given. */
  async function run(
    prompt: string,
    answers: (event: Asking, n: number) => Verdict | null,
    given: Partial<Turn> = {},
    signal = never,
    also: (event: AgentEvent) => void = () => undefined,
  ) {
    const events: AgentEvent[] = []
    let n = 0
    const wanted = turn({ prompt: `${prompt} ${mark}`, session, askTools: ['Bash'], ...given })
    for await (const event of backend.run(wanted, signal)) {
      events.push(event)
      if (event.type === 'started' && event.session) session = { id: event.session, resume: true }
      const verdict = event.type === 'asks' ? answers(event, n++) : null
      if (event.type === 'asks' && verdict) event.answer(verdict)
      also(event)
    }
    const end: Ended = grammar(events)
    const asked = events.filter(event => event.type === 'asks').map(({ ask }) => ask)
    return { end, asked, events, actions: events.filter(event => event.type === 'action') }
  }
  return { run, mark, path: join(home, mark) }
}
