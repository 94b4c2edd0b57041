// The known secrets. The list grows while the gateway runs: the token is generated at the first start, and an edit of config.json may add a secret.
import { scrubber } from '../base/scrub.ts'
import { secretHider } from './report.ts'

export interface KnownSecrets {
  /** For people: also removes stack traces and paths. */
  scrub(text: string): string
  /** For the log: removes only the secrets. */
  hide(line: string): string
  /** Adds these secrets. A secret is never removed again. */
  learn(secrets: readonly string[]): void
}

export function createKnownSecrets(first: readonly string[]): KnownSecrets {
  const known = new Set(first)
  let scrub = scrubber(first)
  let hide = secretHider(first)
  return {
    scrub: text => scrub(text),
    hide: line => hide(line),
    learn(secrets) {
      const news = secrets.filter(secret => !known.has(secret))
      if (news.length === 0) return
      for (const secret of news) known.add(secret)
      scrub = scrubber([...known])
      hide = secretHider([...known])
    },
  }
}
