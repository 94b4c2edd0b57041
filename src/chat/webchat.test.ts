// The cost of updates: for a long queue, and for a long answer.
import { resolve } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Outgoing } from '../base/chat.ts'
import type { NewEvent } from '../base/event.ts'
import type { Socket } from '../base/socket.ts'
import type { ServerFrame } from './frames.ts'
import { createWebchat } from './webchat.ts'

type Whole = () => (frame: ServerFrame) => ServerFrame
/** Joins drafts as the page does, which is untyped browser JavaScript. */
const { wholeDrafts } = (await import(resolve('web/chat/parts-of-drafts.js'))) as { wholeDrafts: Whole }

const conversation = 'hall'
const place = { chat: 'webchat', conversation }
const never = new AbortController().signal

interface Person {
  readonly frames: ServerFrame[]
  leave(): void
}

/** A conversation whose queue the test controls. Clients without `drafts` take the whole text. */
function hall(queue: string[] = []) {
  const eventOf = (id: string) => ({ key: `webchat:${conversation}:${id}`, what: { kind: 'message', id } }) as NewEvent
  const chat = createWebchat({
    attach: async () => null,
    refuse: async (_, why) => ({ type: 'refused', why, reason: why }),
    change: async () => ({ changed: true }),
    stop: () => false,
    steer: async () => null,
    deliverWaiting: async () => undefined,
    sent: () => undefined,
    broke: error => {
      throw error
    },
    waiting: async () => queue.map((id, i) => ({ event: eventOf(id), position: i + 1 })),
    positions: () => queue.map((id, i) => ({ key: eventOf(id).key, position: i + 1 })),
    history: () => ({ messages: [], older: null }),
    final: () => null,
    onFinal: () => undefined,
    fetched: async () => true,
    wasCancelled: () => false,
  })
  return {
    chat,
    async enter(drafts: 'whole' | 'delta' = 'whole'): Promise<Person> {
      const frames: ServerFrame[] = []
      let close: () => void = () => undefined
      const socket: Socket = {
        send: text => frames.push(JSON.parse(text)) > 0,
        reached: async () => true,
        onText: () => undefined,
        onClose: listener => {
          close = listener
        },
        close: () => undefined,
      }
      chat.connect(socket, conversation, { drafts })
      await until(() => frames.some(({ type }) => type === 'history'))
      await new Promise(setImmediate)
      return { frames, leave: () => close() }
    },
    async post(kind: 'draft' | 'final', id: string, text: string): Promise<void> {
      const message: Outgoing = { key: `${id}#${kind}`, kind, about: id, text, ok: true, action: null }
      await chat.post(place, message, never)
    },
  }
}

const until = async (so: () => boolean) => {
  for (let rounds = 0; !so(); rounds++) {
    if (rounds > 500) throw new Error('it never came to that')
    await new Promise(rounds < 20 ? setImmediate : resolve => setTimeout(resolve, 20))
  }
}

/** The last position they received for each message. */
const positionsIn = (frames: readonly ServerFrame[]) =>
  new Map(frames.flatMap(frame => (frame.type === 'waiting' ? [[frame.id, frame.position] as const] : [])))
const waitingFrames = ({ frames }: Person) => frames.filter(({ type }) => type === 'waiting').length

test('a long queue is not sent again on every move, but the positions end up correct', async () => {
  const length = 3000
  const queue = Array.from({ length }, (_, i) => `m${i}`)
  const { enter, post } = hall(queue)
  const person = await enter()
  expect(positionsIn(person.frames).get('m2999')).toBe(3000)
  const framesBefore = waitingFrames(person)
  for (let i = 0; queue.length > 100; i++) {
    queue.shift()
    await post('final', `done-${i}`, 'yes')
  }
  // Of 2,900 moves of 3,000 to 100 messages: four and a half million frames, if each move sent each position.
  expect(waitingFrames(person) - framesBefore).toBeLessThan(2900 * 40)
  await until(() => queue.every((id, i) => positionsIn(person.frames).get(id) === i + 1))
  person.leave()
})

test('a long queue that moves slowly sends few positions with each move, and the rest when it stands still', async () => {
  const queue = Array.from({ length: 300 }, (_, i) => `m${i}`)
  const { enter, post } = hall(queue)
  const person = await enter()
  const framesBefore = waitingFrames(person)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  for (let i = 0; i < 200; i++) {
    queue.shift()
    await post('final', `done-${i}`, 'yes')
    vi.advanceTimersByTime(300)
  }
  // 300 to 100 positions for each of 200 moves would be 40,000.
  expect(waitingFrames(person) - framesBefore).toBeLessThan(10_000)
  vi.advanceTimersByTime(10_000)
  expect(queue.map(id => positionsIn(person.frames).get(id))).toEqual(queue.map((_, i) => i + 1))
  person.leave()
})

test('a new client gets all positions, and the others get nothing new', async () => {
  const queue = ['a', 'b', 'c']
  const { enter } = hall(queue)
  const first = await enter()
  const second = await enter()
  expect([...positionsIn(second.frames)]).toEqual([...[['a', 1] as const, ['b', 2] as const, ['c', 3] as const]])
  expect([waitingFrames(first), waitingFrames(second)]).toEqual([3, 3])
})

test('clients that accept parts get each part of a long answer once; the others get the whole text', async () => {
  const { enter, post } = hall()
  const [delta, whole] = [await enter('delta'), await enter()]
  const answer = 'words and words and words. '.repeat(4000)
  for (let end = 0; end <= answer.length; end += 400) await post('draft', 'm', answer.slice(0, end))
  const sent = ({ frames }: Person) => frames.reduce((sum, frame) => sum + JSON.stringify(frame).length, 0)
  expect(sent(delta)).toBeLessThan(2 * answer.length)
  expect(whole.frames.filter(frame => frame.type === 'draft').every(frame => !('from' in frame))).toBe(true)
  expect(whole.frames.at(-1)).toEqual({
    type: 'draft',
    id: 'm',
    text: answer.slice(0, answer.length - (answer.length % 400)),
  })
})

test('the joined parts equal the last text, whatever came before and however often the connection broke', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc', '😀', '\ud83d', '\ude00', '\n'), { maxLength: 6 })
    .map(parts => parts.join(''))
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constant('grow' as const), by: text }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('instead' as const), text }) },
    { weight: 1, arbitrary: fc.constant({ type: 'final' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'reconnect' as const }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.constantFrom('m', 'n'), step), { maxLength: 25 }), async steps => {
      const { enter, post } = hall()
      const texts = new Map<string, string>()
      let person = await enter('delta')
      let seen = 0
      let whole = wholeDrafts()
      for (const [id, one] of steps) {
        if (one.type === 'reconnect') {
          person.leave()
          person = await enter('delta')
          whole = wholeDrafts()
          seen = person.frames.length
          continue
        }
        const next = one.type === 'grow' ? (texts.get(id) ?? '') + one.by : one.type === 'instead' ? one.text : ''
        if (one.type === 'final') texts.delete(id)
        else texts.set(id, next)
        await post(one.type === 'final' ? 'final' : 'draft', id, next)
        for (; seen < person.frames.length; seen++) {
          const frame = person.frames[seen]!
          const made = whole(frame)
          if (frame.type !== 'draft') continue
          expect(made).toEqual({ type: 'draft', id, text: next })
          // Other languages do not accept half a character.
          if (next.isWellFormed()) expect(frame.text.isWellFormed()).toBe(true)
        }
      }
      person.leave()
    }),
    { numRuns: 200 },
  )
})
