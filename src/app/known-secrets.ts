// What must not be seen, which grows while we run: the token is made at the first start, and an edit of config.json may bring a new secret.
import { scrubber } from '../base/scrub.ts'
import { secretHider } from './config-report.ts'

export interface KnownSecrets {
  /** For people: also without stacks and paths. */
  scrub(text: string): string
  /** For the log: without the secrets alone. */
  hide(line: string): string
  /** From now on these as well. What was a secret once stays one. */
  learn(secrets: readonly string[]): void
}

export function openKnownSecrets(first: readonly string[]): KnownSecrets {
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
