// Which waiting messages reach the turn that is running, and which do not.
import { expect, test } from 'vitest'
import type { NewEvent } from '../base/event.ts'
import { createSteering } from './steering.ts'

const message = (id: string, user: string | null = null): NewEvent => ({
  key: id,
  lane: 'l',
  what: { kind: 'message', id, text: `text of ${id}`, author: { id: user ?? 'owner', name: '', owner: user === null } },
  replyTo: null,
  source: 'test',
})

function setup(waiting: readonly NewEvent[]) {
  const told: string[] = []
  const handed: string[] = []
  const steering = createSteering({
    inbox: () => ({
      waiting: async () =>
        waiting.map((item, i) => ({
          ...{ id: i, lane: item.lane, key: item.key, item, at: 0, notBefore: 0, position: i + 1, interrupted: false },
        })),
      async handOver(_, key, work) {
        const followUps = await work()
        if (followUps !== null) handed.push(key)
        return followUps !== null
      },
    }),
    words: ({ what }) => ('text' in what ? what.text : ''),
    followUps: () => [],
  })
  const running = (takes: boolean, item = message('running')) =>
    steering.turns.set('l', {
      taken: { item, earlier: [] },
      async steer(words) {
        told.push(words)
        return takes
      },
    })
  return { steering, running, told, handed }
}

test('the next waiting message, or the chosen one, is told to the running turn and done', async () => {
  const { steering, running, told, handed } = setup([message('a'), message('b')])
  running(true)
  expect(await steering.steer('l', 'b')).toBe('steered')
  expect(await steering.steer('l')).toBe('steered')
  expect(told).toEqual(['text of b', 'text of a'])
  expect(handed).toEqual(['b', 'a'])
})

test('without a turn that takes words, and once it has ended, the message keeps waiting', async () => {
  const { steering, running, handed } = setup([message('a')])
  expect(await steering.steer('l')).toBe('impossible')
  running(false)
  expect(await steering.steer('l')).toBe('impossible')
  steering.turns.delete('l')
  expect(await steering.steer('l')).toBe('impossible')
  expect(handed).toEqual([])
  expect(await setup([]).steering.steer('l')).toBe('nothing')
})

test('the words of one person never reach the turn of another', async () => {
  const { steering, running, told } = setup([message('a', 'guest')])
  running(true)
  expect(await steering.steer('l')).toBe('not-theirs')
  running(true, message('running', 'somebody else'))
  expect(await steering.steer('l')).toBe('not-theirs')
  running(true, message('running', 'guest'))
  expect(await steering.steer('l')).toBe('steered')
  expect(told).toHaveLength(1)
})
