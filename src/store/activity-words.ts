// Signals in plain words for the list of what happened: never what people or agents said.
import type { Signal } from '../base/signal.ts'

const longest = 200

/** Null: not worth a line. */
export function inPlainWords(signal: Signal): string | null {
  const words = worded(signal)
  return words !== null && words.length > longest ? `${words.slice(0, longest - 1)}…` : words
}

export function isWarning(signal: Signal): boolean {
  switch (signal.type) {
    case 'turn-ended':
      return !signal.ok && signal.why !== 'stopped'
    case 'turn-acted':
      return false
    default:
      return warnings.has(signal.type)
  }
}

const warnings = new Set<Signal['type']>([
  'event-refused',
  'event-set-aside',
  'turn-put-off',
  'turn-moved',
  'warm-trouble',
  'session-lost',
  'letter-refused',
  'letter-delayed',
  'chat-lost',
  'chat-trouble',
  'workspace-trouble',
])

function worded(signal: Signal): string | null {
  switch (signal.type) {
    case 'event-accepted':
      return `${signal.kind} accepted (${signal.lane})`
    case 'event-refused':
      return `refused: ${signal.why} (${signal.lane})`
    case 'command-answered':
      return `command answered (${signal.lane})`
    case 'event-set-aside':
      return `set aside after ${signal.attempts} attempts (${signal.lane})`
    case 'turn-began': {
      const again = signal.attempt > 1 ? `, attempt ${signal.attempt}` : ''
      return `${signal.backend} began${again}${signal.interrupted ? ', after an interruption' : ''} (${signal.lane})`
    }
    case 'turn-acted':
      if (signal.phase === 'ended') return null
      return `${signal.phase === 'failed' ? 'a tool failed' : 'a tool is used'} (${signal.lane})`
    // Told by the end of the turn, or for the timeline alone.
    case 'turn-spoke':
    case 'turn-asked':
    case 'draft-lost':
      return null
    case 'turn-ended': {
      const how = signal.ok
        ? 'answered in'
        : signal.why === 'stopped'
          ? 'was stopped after'
          : `failed (${signal.why}) after`
      return `${signal.backend} ${how} ${seconds(signal.ms)} (${signal.lane})`
    }
    case 'turn-put-off':
      return `put off: ${signal.why} (${signal.lane})`
    case 'turn-moved':
      return `${signal.to} takes over from ${signal.from}: ${signal.why} (${signal.lane})`
    case 'warm-trouble':
      return `${signal.backend} did not come up to stay: ${signal.why}`
    case 'session-lost':
      return `the session was lost, a new one begins (${signal.lane})`
    case 'letter-sent':
      return `sent ${signal.length} characters (${placed(signal)})`
    case 'letter-refused':
      return `not sent: ${signal.why} (${placed(signal)})`
    case 'letter-delayed':
      return `not sent yet: ${signal.why} (${placed(signal)})`
    case 'chat-ready':
      return `${signal.chat} ${signal.resumed ? 'is connected again' : 'is connected'}${signal.shard === null ? '' : `, ${signal.shard}`}`
    case 'chat-catching-up':
      return `${signal.chat}: looking for what was said meanwhile in ${signal.places} ${signal.places === 1 ? 'place' : 'places'}`
    case 'chat-caught-up':
      return `${signal.chat}: caught up with ${signal.messages} messages`
    case 'chat-lost':
      return `${signal.chat} was lost: ${signal.why}`
    case 'chat-trouble':
      return `${signal.chat}: ${signal.why}`
    case 'workspace-trouble':
      return `trouble with ${signal.file}: ${signal.why}`
    case 'job-skipped':
      return `${signal.kind} ${signal.name} skipped: ${signal.why}`
    default:
      return signal satisfies never
  }
}

/** As people say it: `80 ms`, `2.1 s`, `3 min 20 s`. */
export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`
  const whole = Math.round(ms / 1000)
  return `${Math.floor(whole / 60)} min ${whole % 60} s`
}

const placed = ({ place }: { readonly place: { readonly chat: string; readonly conversation: string } }) =>
  `${place.chat}:${place.conversation}`
