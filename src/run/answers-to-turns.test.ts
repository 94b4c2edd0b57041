// Answers and words for a running turn.
import { expect, test } from 'vitest'
import type { AgentEvent } from '../base/agent.ts'
import type { Verdict } from '../base/tool-use.ts'
import { openGate } from './events.ts'

const ended: AgentEvent = { type: 'ended', ok: true, text: '' }

function asking(signal = new AbortController().signal) {
  const verdicts: Verdict[] = []
  const gate = openGate(signal)
  const ask = { id: 'a', kind: 'plan', plan: 'p' } as const
  const event = gate.pass({ type: 'asks', ask, answer: verdict => verdicts.push(verdict) })
  const words: string[] = []
  const steerable = gate.pass({
    type: 'steerable',
    steer(said) {
      words.push(said)
      return new Promise<boolean>(() => undefined)
    },
  })
  if (event.type !== 'asks' || steerable.type !== 'steerable') throw new Error('not passed on')
  return { gate, verdicts, answer: event.answer, words, steer: steerable.steer }
}

test('the first answer counts', () => {
  const { answer, verdicts } = asking()
  answer({ allow: false, message: 'no' })
  answer({ allow: true })
  expect(verdicts).toEqual([{ allow: false, message: 'no' }])
})

test('nothing reaches a turn that is over or was stopped', async () => {
  const stop = new AbortController()
  const [over, stopped] = [asking(), asking(stop.signal)]
  over.gate.pass(ended)
  stop.abort()
  for (const { answer, verdicts, steer, words } of [over, stopped]) {
    answer({ allow: true })
    expect(await steer('words')).toBe(false)
    expect([verdicts, words]).toEqual([[], []])
  }
})

test('words that were not taken when the turn ends did not reach it', async () => {
  const { gate, steer, words } = asking()
  const taken = steer('words')
  gate.close()
  expect(await taken).toBe(false)
  expect(words).toEqual(['words'])
})
