// What the wall adds to a guest's turn: the same stand-in CLI with and without a box, in turns.
import { join } from 'node:path'
import type { Turn } from '../src/base/agent.ts'
import type { NewEvent } from '../src/base/event.ts'
import { createBackend, createProfiles, createTempDirs, findWall, killEverything, openPool } from '../src/run/index.ts'
import { standIn } from '../test/harness/gateway.ts'
import { type Figure, median, ms, percentile } from './figures.ts'
import { withHome } from './rig.ts'

const budget = { coldMs: 15, warmMs: 1 }
const rounds = { cold: 40, warm: 200 }

/** As it is by default. */
const network = { guestNetwork: ['model'], guestUrls: [] }

export async function wallFigures(): Promise<readonly Figure[]> {
  process.on('exit', killEverything)
  const wall = await findWall('auto', process.env.PATH, new AbortController().signal)
  if (wall.kind !== 'bwrap')
    return [{ name: 'added by the wall', value: `not measured: ${wall.detail}`, baseline: '', budget: '', ok: null }]
  return withHome(async home => {
    const clock = { now: () => performance.now(), sleep: () => new Promise<void>(() => undefined) }
    const profiles = createProfiles({
      ...{
        workspace: home.configDir,
        stateDir: join(home.configDir, '.aetheel'),
        product: [],
        project: home.configDir,
      },
      wall: async () => wall,
      settings: () => ({
        guestTools: ['Read'],
        guestMcp: [],
        guestEnv: [],
        sandbox: 'off',
        allowedTools: [],
        ...network,
      }),
    })
    const pool = openPool({
      rules: { most: 4, memoryBytes: 2 ** 31, idleMs: 600_000 },
      ...{ clock, emit: () => undefined, memoryOf: () => 0 },
    })
    const open = (way: 'cold' | 'warm') =>
      createBackend('claude', {
        ...{ program: standIn, sdkPath: null, environment: { PATH: process.env.PATH, HOME: home.dir }, handOn: [] },
        ...{ extra: {}, scrub: (text: string) => text, clock, pool: way === 'warm' ? pool : null },
        tempDirs: createTempDirs(join(home.configDir, '.aetheel', 'runs')),
      })
    /** From the decision about the profile to the end of the turn. */
    async function turn(way: 'cold' | 'warm', inBox: boolean, session: Turn['session']): Promise<number> {
      const began = performance.now()
      const confinement = inBox ? await profiles.of({ item: said, earlier: [] }, 'claude') : null
      const order: Turn = {
        ...{
          prompt: 'hello',
          systemPrompt: 'x',
          session,
          model: null,
          maxTurns: 5,
          allowedTools: ['Read'],
          askTools: [],
        },
        ...{ permissionMode: 'bypassPermissions', mcpServers: [], workingDir: home.configDir, ...confinement?.turn },
      }
      for await (const event of backends[way]?.run(order, new AbortController().signal) ?? [])
        if (event.type === 'ended' && !event.ok) throw new Error(event.detail)
      return performance.now() - began
    }
    const backends = { cold: open('cold'), warm: open('warm') }
    const sessions = {
      true: { id: crypto.randomUUID(), resume: false },
      false: { id: crypto.randomUUID(), resume: false },
    }
    async function measure(way: 'cold' | 'warm'): Promise<Figure> {
      const without: number[] = []
      const inside: number[] = []
      for (let round = -2; round < rounds[way]; round++)
        for (const inBox of round % 2 === 0 ? [true, false] : [false, true]) {
          const session = way === 'cold' ? null : { ...sessions[`${inBox}`], resume: round > -2 }
          const took = await turn(way, inBox, session)
          if (round >= 0) (inBox ? inside : without).push(took)
        }
      const added = median(inside) - median(without)
      const most = way === 'cold' ? budget.coldMs : budget.warmMs
      return {
        name: `added by the wall, ${way} turn`,
        value: `p50 ${ms(added)} (${ms(median(inside))} in a box, p95 ${ms(percentile(inside, 0.95))})`,
        baseline: `without a box: ${ms(median(without))}, p95 ${ms(percentile(without, 0.95))}`,
        budget: `p50 ≤ ${most} ms`,
        ok: added <= most,
      }
    }
    const figures = [await measure('cold'), await measure('warm')]
    await pool.close()
    return figures
  })
}

const said: NewEvent = {
  ...{ key: 'k', lane: 'tavern:c', replyTo: null, source: 'tavern' },
  what: { kind: 'message', id: 'm', text: 'hello', author: { id: 'ada', name: 'Ada', owner: false } },
}
