// What must not be seen, which grows while we run: an edit of config.json may bring a new secret.
import { scrubber } from '../base/scrub.ts'

export interface KnownSecrets {
  scrub(text: string): string
  /** From now on these as well. What was a secret once stays one. */
  learn(secrets: readonly string[]): void
}

export function openKnownSecrets(first: readonly string[]): KnownSecrets {
  const known = new Set(first)
  let scrub = scrubber(first)
  return {
    scrub: text => scrub(text),
    learn(secrets) {
      const news = secrets.filter(secret => !known.has(secret))
      if (news.length === 0) return
      for (const secret of news) known.add(secret)
      scrub = scrubber([...known])
    },
  }
}
