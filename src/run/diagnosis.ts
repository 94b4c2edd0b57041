// Classifies the error messages of the CLIs. They are similar for all of them, because the services behind them are.
import type { Ended, FailureReason } from '../base/agent.ts'
import type { ProcessEnd } from './process.ts'

export function diagnose(message: string, status = 0): FailureReason {
  if (/no conversation found|session .*not found|no rollout found|invalid session|no session found/i.test(message))
    return 'session-lost'
  if ((status === 0 || status === 400 || status === 404) && isAboutModel(message, status)) return 'unknown-model'
  if (
    status === 401 ||
    status === 403 ||
    /not logged in|please run \/login|invalid api key|api key not valid|authentication_error|unauthorized|oauth token|invalid auth/i.test(
      message,
    )
  )
    return 'not-logged-in'
  if (status === 429 || /usage limit|rate.?limit|limit reached|hit your \w* ?limit|quota/i.test(message))
    return 'rate-limited'
  if (
    status >= 500 ||
    /overloaded|connection ?(?:error|refused|reset)|unable to connect|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN/i.test(
      message,
    )
  )
    return 'overloaded'
  // Any other 4xx: this request will not be accepted the next time either.
  if (status >= 400 || /usage policy|\brefusal\b|refused (?:the|this|your) request/i.test(message)) return 'refused'
  return 'crashed'
}

const isAboutModel = (message: string, status: number): boolean =>
  (status === 404 && /\bmodels?\b/i.test(message)) ||
  /issue with the selected model|model_?not_?found|(?:unknown|invalid|no such) model|\bmodels?\b(?! metadata)[^.\n]{0,80}?(?: not found|does not exist|is not supported when)/i.test(
    message,
  )

export function failure(detail: string, status = 0): Ended {
  return { type: 'ended', ok: false, why: diagnose(detail, status), detail }
}

/** An HTTP status such as 429 in an error text, for CLIs that have no field for it. */
export const statusIn = (message: string): number => Number(/\b([45]\d\d)\b/.exec(message)?.[1] ?? 0)

/** The end of a process that exited without reporting one. */
export function silentEnd(how: ProcessEnd, understood: boolean): Ended {
  if (!understood && how.code === 0)
    return {
      type: 'ended',
      ok: false,
      why: 'unreadable',
      detail: 'the program ended without readable output',
    }
  const message = how.stderr.trim() || (how.signal ? `ended by ${how.signal}` : `exit code ${how.code}`)
  return { type: 'ended', ok: false, why: diagnose(how.stderr), detail: message }
}
