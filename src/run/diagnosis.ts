// What a CLI's last words mean. The words are much the same for all of them, because the services behind them are.
import type { Ended, FailureReason } from '../base/agent.ts'
import type { ProcessEnd } from './process.ts'

export function diagnose(said: string, status = 0): FailureReason {
  if (/no conversation found|session .*not found|no rollout found|invalid session|no session found/i.test(said))
    return 'session-lost'
  if (
    status === 401 ||
    status === 403 ||
    /not logged in|please run \/login|invalid api key|api key not valid|authentication_error|unauthorized|oauth token|invalid auth/i.test(
      said,
    )
  )
    return 'not-logged-in'
  if (status === 429 || /usage limit|rate.?limit|limit reached|hit your \w* ?limit|quota/i.test(said))
    return 'rate-limited'
  if (
    status >= 500 ||
    /overloaded|connection ?(?:error|refused|reset)|unable to connect|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN/i.test(said)
  )
    return 'overloaded'
  // Any other 4xx: this request will not be accepted the next time either.
  if (status >= 400 || /usage policy|\brefusal\b|refused (?:the|this|your) request/i.test(said)) return 'refused'
  return 'crashed'
}

export function failure(detail: string, status = 0): Ended {
  return { type: 'ended', ok: false, why: diagnose(detail, status), detail }
}

/** A status such as 429 out of an error text, where the CLI has no field for it. */
export const statusIn = (said: string): number => Number(/\b([45]\d\d)\b/.exec(said)?.[1] ?? 0)

/** The end of a process that never said how it ended. */
export function silentEnd(how: ProcessEnd, understood: boolean): Ended {
  if (!understood && how.code === 0)
    return {
      type: 'ended',
      ok: false,
      why: 'unreadable',
      detail: 'the program ended without a word that could be read',
    }
  const said = how.stderr.trim() || (how.signal ? `ended by ${how.signal}` : `exit code ${how.code}`)
  return { type: 'ended', ok: false, why: diagnose(how.stderr), detail: said }
}
