// The known secrets. The list grows while the gateway runs: the token is generated at the first start, and an edit of config.json may add a secret.
import { scrubber } from '../base/scrub.ts'
import { mask } from './report.ts'

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

/** Hides secrets in unexpected places, such as a token entered as a model. */
export function secretHider(secrets: readonly string[]): (line: string) => string {
  // Longest first: hiding only a part of a secret would reveal the rest.
  const forms = secrets.flatMap(secret => [secret, JSON.stringify(secret).slice(1, -1)])
  const ordered = [...new Set(forms)].sort((a, b) => b.length - a.length)
  return line => ordered.reduce((text, secret) => text.replaceAll(secret, mask), line)
}
