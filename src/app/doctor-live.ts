// One real turn, to see whether a backend answers.
import type { Backend, Ended, Turn } from '../base/agent.ts'
import { excerpt } from '../base/scrub.ts'
import { explain } from '../send/index.ts'
import type { Check } from '../ui/index.ts'
import { sampleTurn } from './backends.ts'
import type { Config } from './config.ts'

export interface LiveParts {
  /** Milliseconds; only differences count. */
  now(): number
  readonly timeoutMs: number
  /** Takes out of a CLI's words what must not be seen. */
  scrub(text: string): string
  /** For a backend that says it is not logged in, or is not there. */
  readonly fix: string
}

/** Everything else as in any other turn: it is the configuration that is tried. */
export const questionTo = (config: Config): Turn => ({
  ...sampleTurn(config),
  prompt: 'Reply with the word ready.',
  systemPrompt: 'You are being tried out. Answer in one short sentence, without tools.',
})

/** Null: stopped by `signal`. */
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
  const said = excerpt(ended.text.replace(/\s+/g, ' '), 60)
  const spoke = firstWord === null ? '' : `, the first word after ${duration(firstWord)}`
  const detail = `${backend.name} answered in ${duration(took)}${spoke}`
  if (said === '') return { name: 'live', status: 'warn', detail: `${detail}, but with nothing` }
  return { name: 'live', status: 'ok', detail: `${detail}: ${said}` }
}

type Failed = Extract<Ended, { ok: false }>

const tooLate: Failed = { type: 'ended', ok: false, why: 'timed-out', detail: '' }
const silent: Failed = { type: 'ended', ok: false, why: 'crashed', detail: 'it ended without an answer' }

function failed(name: string, ended: Failed | null, took: number, { scrub, fix }: LiveParts): Check {
  const { why, detail, until } = ended ?? silent
  const text = explain({ why, detail, backend: name, ...(until === undefined ? {} : { until }) }, scrub)
  const said = excerpt(scrub(detail).replace(/\s+/g, ' '), 200)
  // People in a chat are spared what the program said; the owner needs it.
  const quote = said === '' || text.includes('It said:') ? '' : ` It said: ${said}`
  const helps = why === 'not-logged-in' || why === 'not-installed'
  return {
    name: 'live',
    status: 'fail',
    detail: `no answer after ${duration(took)}. ${text}${quote}`,
    ...(helps && fix !== '' ? { fix } : {}),
  }
}

const duration = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
