// Whatever owners, guests and edits by hand do to a file, in parallel or not: no guest's change stays unapproved, and nothing is lost.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import { createChanges } from './changes.ts'
import { callerOf, closeStage, ofGuest, ofOwner, openStage, type Stage } from './file-guard.fixture.ts'

type Who = 'owner' | 'guest'
type Step =
  | { readonly do: 'begin'; readonly who: Who }
  | { readonly do: 'end' | 'approve' | 'deny' | 'undo'; readonly which: number }
  | { readonly do: 'write' | 'remove'; readonly at: number }
  | { readonly do: 'remember' | 'save'; readonly which: number }
  | { readonly do: 'restart' }

const which = fc.nat({ max: 20 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('begin' as const), who: fc.constantFrom<Who>('owner', 'guest') }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), which }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('write' as const, 'remove' as const), at: which }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('approve' as const, 'deny' as const, 'undo' as const), which }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('remember' as const, 'save' as const), which }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

interface Turn {
  readonly taken: Taken<NewEvent>
  readonly who: Who
  readonly leave: () => Promise<void>
}

interface World {
  stage: Stage
  turns: Turn[]
  next: number
  /** Lines that may have come from a guest: written while one was there. */
  readonly suspicious: Set<string>
  /** Every text of the file when somebody stopped writing. */
  readonly stood: Set<string>
}

const linesOf = (text: string | null) => (text ?? '').split('\n').filter(line => line !== '')
const isGuestThere = ({ turns }: World) => turns.some(({ who }) => who === 'guest')

async function run(world: World, one: Step): Promise<void> {
  const { stage, turns } = world
  const { fileGuard } = stage
  switch (one.do) {
    case 'begin': {
      const id = world.next++
      const taken = one.who === 'owner' ? ofOwner(id, `webchat:${id}`) : ofGuest(id, `discord:${id}`)
      turns.push({ taken, who: one.who, leave: fileGuard.guardTurn(taken) })
      return
    }
    case 'end': {
      const [turn] = turns.splice(one.which % Math.max(1, turns.length), 1)
      if (turn) world.stood.add(stage.text() ?? '')
      await turn?.leave()
      return
    }
    case 'write':
    case 'remove': {
      const lines = linesOf(stage.text())
      const line = `line ${world.next++}`
      if (one.do === 'write') lines.splice(one.at % (lines.length + 1), 0, line)
      else lines.splice(one.at % Math.max(1, lines.length), 1)
      if (one.do === 'write' && isGuestThere(world)) world.suspicious.add(line)
      stage.write('memory.md', lines.map(each => `${each}\n`).join(''))
      return
    }
    case 'remember': {
      const turn = turns[one.which % Math.max(1, turns.length)]
      const line = `line ${world.next++}`
      if (turn?.who === 'guest') world.suspicious.add(`- ${line}`)
      if (turn) expect(await fileGuard.remember(line, callerOf(turn.taken))).toMatchObject({ ok: true })
      return
    }
    case 'save': {
      world.stood.add(stage.text() ?? '')
      const seen = await fileGuard.own.read('memory.md')
      if (seen.type !== 'text') throw new Error('the owner cannot read it')
      const lines = linesOf(seen.text)
      lines.splice(one.which % (lines.length + 1), 1, `line ${world.next++}`)
      const text = lines.map(each => `${each}\n`).join('')
      expect(await fileGuard.own.write('memory.md', text, seen.version)).toMatchObject({ type: 'written' })
      expect(stage.text()).toBe(text)
      world.stood.add(text)
      return
    }
    case 'restart': {
      world.stood.add(stage.text() ?? '')
      world.stage = await stage.restart(turns.map(({ taken }) => taken))
      world.turns = []
      return
    }
    default: {
      const log = (await fileGuard.list(1000)).filter(({ state }) => (one.do === 'undo') === (state !== 'waiting'))
      const change = log[one.which % Math.max(1, log.length)]
      if (change) await fileGuard[one.do](change.id)
    }
  }
}

test('no unapproved line of a guest stays, and every earlier text is current or in the log', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const world: World = {
        ...{ stage: await openStage({ 'memory.md': 'first\n' }), turns: [], next: 1 },
        ...{ suspicious: new Set(), stood: new Set() },
      }
      try {
        for (const one of steps) await run(world, one)
        for (const { leave } of world.turns.splice(0)) {
          world.stood.add(world.stage.text() ?? '')
          await leave()
        }
        await world.stage.fileGuard.catchUp()
        const current = world.stage.text()
        const log = createChanges(world.stage.db, { now: () => 0, sleep: async () => undefined }).list(1000)
        const approved = log.filter(({ state }) => state === 'approved' || state === 'undone')
        const through = new Set(
          approved.flatMap(({ before, after }) => [...linesOf(before.text), ...linesOf(after.text)]),
        )
        for (const line of linesOf(current)) expect(world.suspicious.has(line) && !through.has(line)).toBe(false)
        // Undoing and approving combine lines that are in the log, so every written line is there.
        const kept = new Set([
          ...linesOf(current),
          ...log.flatMap(one => [...linesOf(one.before.text), ...linesOf(one.after.text)]),
        ])
        for (const text of world.stood) for (const line of linesOf(text)) expect(kept).toContain(line)
        if (!steps.some(one => one.do === 'approve' || one.do === 'undo' || one.do === 'remember')) {
          const texts = new Set(
            [current, ...log.flatMap(one => [one.before.text, one.after.text])].map(text => text ?? ''),
          )
          for (const text of world.stood) expect(texts).toContain(text)
        }
      } finally {
        await closeStage(world.stage)
      }
    }),
    { numRuns: 100 },
  )
}, 120_000)
