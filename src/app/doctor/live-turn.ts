// Runs one real turn to see whether a backend answers.
import type { Backend, Ended, Turn } from '../../base/agent.ts'
import type { Check } from '../../base/check.ts'
import { excerpt } from '../../base/scrub.ts'
import type { Config } from '../../config/index.ts'
import { loginWith } from '../../run/index.ts'
import { explain } from '../../send/index.ts'
import { sampleTurn } from '../wiring/backends.ts'

export interface LiveParts {
  /** Milliseconds from any origin; only differences are used. */
  now(): number
  readonly timeoutMs: number
  /** Removes secrets from the output of a CLI. */
  scrub(text: string): string
  /** What to do if the backend is not logged in or not installed. */
  readonly fix: string
}

/** All other fields are the same as in a real turn, because the configuration is under test. */
export const questionTo = (config: Config): Turn => ({
  ...sampleTurn(config),
  // Nobody is there to answer.
  askTools: [],
  prompt: 'Reply with the word ready.',
  systemPrompt: 'This is a test. Answer in one short sentence, without tools.',
})

/** Null if it was stopped by `signal`. */
export async function askOnce(
  backend: Backend,
  turn: Turn,
  parts: LiveParts,
  signal: AbortSignal,
): Promise<Check | null> {
  const began = parts.now()
  const late = AbortSignal.timeout(parts.timeoutMs)
  let firstWord: number | null = null
  let ended: Ended | null = null
  for await (const event of backend.run(turn, AbortSignal.any([signal, late]))) {
    if (event.type === 'text') firstWord ??= parts.now() - began
    if (event.type === 'ended') ended = event
  }
  const took = parts.now() - began
  if (signal.aborted) return null
  if (!ended?.ok) return failed(backend.name, late.aborted ? tooLate : ended, took, parts)
  const reply = excerpt(ended.text.replace(/\s+/g, ' '), 60)
  const spoke = firstWord === null ? '' : `, the first word after ${duration(firstWord)}`
  const detail = `${backend.name} answered in ${duration(took)}${spoke}`
  if (reply === '') return { name: 'live', status: 'warn', detail: `${detail}, but the answer was empty` }
  return { name: 'live', status: 'ok', detail: `${detail}: ${reply}` }
}

type Failed = Extract<Ended, { ok: false }>

const tooLate: Failed = { type: 'ended', ok: false, why: 'timed-out', detail: '' }
const silent: Failed = { type: 'ended', ok: false, why: 'crashed', detail: 'it ended without an answer' }

function failed(name: string, ended: Failed | null, took: number, { scrub, fix }: LiveParts): Check {
  const { why, detail, until } = ended ?? silent
  const text = explain(
    { why, detail, backend: name, loginWith: loginWith(name), ...(until === undefined ? {} : { until }) },
    scrub,
  )
  const reply = excerpt(scrub(detail).replace(/\s+/g, ' '), 200)
  // Chats do not show what the program said, but the owner needs to see it.
  const quote = reply === '' || text.includes('It said:') ? '' : ` It said: ${reply}`
  const helps = why === 'not-logged-in' || why === 'not-installed'
  return {
    name: 'live',
    status: 'fail',
    detail: `no answer after ${duration(took)}. ${text}${quote}`,
    ...(helps && fix !== '' ? { fix } : {}),
  }
}

const duration = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
