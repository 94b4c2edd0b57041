// Rate limits like Discord's: a window per bucket and channel, announced in headers, with 429 above the limit.
import { createHash } from 'node:crypto'
import { matcher } from './match.ts'
import { tooFast } from './refusal.ts'
import type { Limit, Match } from './types.ts'

interface Rule extends Limit {
  readonly bucket: string
  readonly matches: (method: string, path: string) => boolean
  readonly windows: Map<string, { until: number; used: number }>
}

/** Buckets are separate by channel, guild or webhook. */
const major = (path: string): string => /^\/(?:channels|guilds|webhooks)\/[^/?]+/.exec(path)?.[0] ?? ''

/** The global limit of a bot: 50 requests per second over all routes. */
const overall: Limit = { limit: 50, perMs: 1000, scope: 'global' }

/** Real time, because the libraries wait in real time. */
export const openLimits = () => {
  const rules = new Set<Rule>()
  const make = (match: Match, limit: Limit): Rule => ({
    ...limit,
    bucket: createHash('sha1').update(String(match)).digest('hex').slice(0, 32),
    matches: matcher(match),
    windows: new Map(),
  })
  const global = make(/./, overall)

  const use = (rule: Rule, key: string): Readonly<Record<string, string>> => {
    const at = Date.now()
    const known = rule.windows.get(key)
    const open = known !== undefined && known.until > at ? known : { until: at + rule.perMs, used: 0 }
    rule.windows.set(key, open)
    const marks = {
      'X-RateLimit-Limit': String(rule.limit),
      'X-RateLimit-Remaining': String(Math.max(0, rule.limit - open.used - 1)),
      'X-RateLimit-Reset': (open.until / 1000).toFixed(3),
      'X-RateLimit-Reset-After': ((open.until - at) / 1000).toFixed(3),
      'X-RateLimit-Bucket': rule.bucket,
    }
    if (open.used >= rule.limit) {
      const scope = rule.scope ?? 'user'
      throw tooFast(open.until - at, scope, scope === 'global' ? {} : marks)
    }
    open.used++
    return rule.scope === 'global' ? {} : marks
  }

  return {
    add(match: Match, limit: Limit): () => void {
      const rule = make(match, limit)
      rules.add(rule)
      return () => rules.delete(rule)
    },
    /** Counts one request; returns the headers of its response, or throws the 429. */
    count(method: string, path: string, authorized: boolean): Readonly<Record<string, string>> {
      let marks: Readonly<Record<string, string>> = authorized ? use(global, '') : {}
      for (const rule of rules) {
        if (rule.matches(method, path)) marks = { ...marks, ...use(rule, rule.scope === 'global' ? '' : major(path)) }
      }
      return marks
    },
  }
}
