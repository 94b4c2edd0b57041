// Removes from a text what must not be shown: secrets, stack traces, paths of this machine.

/** Longer texts are truncated, so that the run time is bounded. */
const longest = 20_000
const gone = '…'

/**
 * Removes the given secrets (six characters or more, also URL-encoded or JSON-escaped) and everything that looks like a
 * secret, a line of a stack trace or an absolute path. Removes too much rather than too little.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.flatMap(spellings))].sort((a, b) => b.length - a.length)
  // Truncation may leave part of a secret at the end that is no longer recognized, so that much is removed too.
  const unsure = Math.max(512, known[0]?.length ?? 0)
  return text => {
    let clean = text.slice(0, longest + unsure)
    for (const secret of known) clean = clean.replaceAll(secret, gone)
    clean = withoutStack(clean)
    clean = clean.replace(urlOrPath, found => (isUrl.test(found) ? found : withoutPath(found)))
    for (const [pattern, kept] of secretShapes) clean = clean.replace(pattern, kept)
    return text.length > longest + unsure ? excerpt(clean.slice(0, -unsure), longest) : clean
  }
}

/** At most `max` characters of a text, without splitting a character. */
export function excerpt(text: string, max = 500): string {
  const trimmed = text.trim()
  if (trimmed.length <= max) return trimmed
  const end = /[\uD800-\uDBFF]/.test(trimmed.charAt(max - 2)) ? max - 2 : max - 1
  return end < 0 ? '' : `${trimmed.slice(0, end).trimEnd()}${gone}`
}

function spellings(secret: string): readonly string[] {
  if (secret.length < 6) return []
  const inUrl = secret.isWellFormed() ? [encodeURIComponent(secret)] : []
  return [secret, ...inUrl, JSON.stringify(secret).slice(1, -1)]
}

function withoutStack(text: string): string {
  return text
    .split('\n')
    .filter(line => !isStackLine(line.trim()))
    .join('\n')
    .replace(inlineFrame, '')
}

function isStackLine(line: string): boolean {
  if (line.startsWith('at ')) return line.endsWith(')') || /:\d+$/.test(line) || line.endsWith('<anonymous>')
  return line.startsWith('File "') && /", line \d+/.test(line)
}

/** A stack frame in the middle of a line, as in `TypeError: x at read (file.js:1:2)`. */
const inlineFrame = /\bat [^\s()]{0,100}(?: [^\s()]{1,100}){0,3} ?\([^()\n]{1,300}:\d+:\d+\)/g

const secretName = '(?:key|token|secret|passw(?:or)?d|passphrase|credential|authorization|cookie)'
const secretValue =
  '(?<quote>\\\\?["\'])[^\\n]{0,2000}?\\k<quote>|(?:(?:bearer|basic|bot|token)\\s+)?[^\\s&"\']{0,2000}[^\\s&"\',;}\\])]'

/** Each pattern with its replacement. All repetitions are bounded or cannot overlap, so none can backtrack without end. */
const secretShapes: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{1,60}-----[\s\S]*?(?:-----END [A-Z ]{1,60}-----|$)/g, gone],
  [/(?<![a-z\d+.-])([a-z][a-z\d+.-]{0,30}:\/\/)(?:[^\s/]{1,300}|[^\s/:@]{0,100}:[^\s@]{1,300})@/gi, `$1${gone}@`],
  [/(?<![A-Za-z\d])(?:sk|rk|pk)[-_][\w-]{8,}/g, gone],
  [/(?<![A-Za-z\d])(?:gh[a-z]_|github_pat_|glpat-|npm_|hf_|xox[a-z]-|xapp-|ya29\.|AIza)[\w.-]{8,}/g, gone],
  [/(?<![A-Za-z\d])(?:xai|gsk|pplx|whsec|tvly|r8|dop_v1|shp[a-z]{2}|SG)[-_.][\w.-]{16,}/g, gone],
  [/(?<![A-Za-z\d])A[A-Z]IA[A-Z\d]{12,}/g, gone],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, gone],
  [/(?<![\w-])[\w-]{23,30}\.[\w-]{5,8}\.[\w-]{25,}/g, gone],
  [/(?<!\d)\d{8,12}:[\w-]{30,}/g, gone],
  // Lower case, upper case and digits mixed in one long word: it looks like a key.
  [/(?<![\w-])(?=[\w-]{0,200}?[a-z])(?=[\w-]{0,200}?[A-Z])(?=[\w-]{0,200}?\d)[\w-]{36,}/g, gone],
  [/\b(bearer)\s+[\w.~+/=-]{6,}/gi, `$1 ${gone}`],
  [/\b(basic)\s+(?=[A-Za-z+/]*[\d=])[A-Za-z\d+/]{8,}={0,2}/gi, `$1 ${gone}`],
  [assignment('[\\w.-]{0,60}', '(?:\\\\?["\'])?\\s{0,9}[:=]\\s{0,9}'), `$1${gone}`],
  [assignment('--?[\\w-]{0,60}', '[ =]{1,9}'), `$1${gone}`],
]

/** `NAME_KEY=value`, `"api_key": "value"`, `--token value`: the name stays, the value is removed. */
function assignment(before: string, between: string): RegExp {
  return new RegExp(`(${before}${secretName}[\\w.-]{0,60}${between})(?:${secretValue})`, 'gi')
}

/** URLs are matched too, so that the part after the host is not taken for a path. */
const urlOrPath = new RegExp(
  [
    /(?<![a-z\d+.-])[a-z][a-z\d+.-]{1,30}:\/\/[^\s"'`<>]{1,2000}/,
    /(?<=(?<quote>["'`]))(?:~?\/|[a-z]:[\\/]|\\\\)[^"'`\n]{1,1000}(?=\k<quote>)/,
    /(?<![a-z])[a-z]:[\\/](?:[^\\/\n"'`<>|*?:]{1,100}[\\/]){0,50}[^\s"'`<>|*?;,()]*/,
    /\\\\[^\s\\"'`]{1,100}\\[^\s"'`<>|*?;,()]*/,
    /(?<![\w/.<~])~?\/(?!\/)(?:\\ |[^\s"'`<>|*?;,()[\]{}]){1,1000}/,
    /(?<![\w/.@-])(?:[\w.@-]{1,100}\/){1,20}[\w@-]{1,100}(?:\.[\w-]{1,40}){0,4}\.[a-z]{1,5}(?::\d{1,9}){1,2}(?![\w/-])/,
    /(?<![\w/.@-])[\w@-]{1,100}(?:\.[\w-]{1,40}){0,4}\.[a-z]{1,5}:\d{1,9}:\d{1,9}(?!\w)/,
    /\/(?:home|users|root|etc|usr|var|opt|tmp|mnt|srv|private|proc|workspace)\/[^\s"'`<>|*?;,()[\]{}]*/,
  ]
    .map(one => one.source)
    .join('|'),
  'gi',
)

const isUrl = /^(?!file:)[a-z][a-z\d+.-]*:\/\//i

/** Punctuation after a path belongs to the sentence. */
const withoutPath = (path: string) => gone + (/[.:!?]$/.exec(path)?.[0] ?? '')

/** Allowed: letters, digits, marks, symbols, and only punctuation that cannot end a line, open a bracket or start a clause. */
const unfit = /[^\p{L}\p{M}\p{N}\p{So}\p{Sc}_.'#&@!?/-]+/gu

/** One line without brackets, quotes, commas, colons or invisible characters; at most `max` characters. */
export const label = (text: string, max = 60): string => excerpt(text.slice(0, 4 * max).replace(unfit, ' '), max)

const unseen = /[\p{C}\p{Zl}\p{Zp}]/gu

/** A file name as one line of visible characters: line breaks and the like are shown as `\u{a}`. At most `max` characters. */
export const visible = (name: string, max = 300): string =>
  excerpt(
    name
      .slice(0, max + 1)
      .toWellFormed()
      .replace(unseen, char => `\\u{${char.codePointAt(0)?.toString(16)}}`),
    max,
  )

// The known secrets. The list grows while the gateway runs: the token is generated at the first start, and an edit of config.json may add a secret.

/** What is shown in place of a secret. */
export const mask = '********'

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

/** A text in its lines, in which nothing is invisible and nothing changes the order in which it is read. */
export const revealed = (text: string): string =>
  text.replace(/[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/gu, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
