// The configuration as shown to people: values without secrets, mistakes, and a first config.json.
import { eachOption, type Option, options } from './options/index.ts'
import type { From, Problem, Variables } from './sources.ts'

export interface ShownValue {
  readonly key: string
  readonly env: string
  /** Null: not set. A secret is masked. */
  readonly value: string | null
  readonly from: From
  readonly description: string
}

/** One line each: key (other names): value and its source; what is allowed. */
export function showProblems(problems: readonly Problem[]): string {
  return problems.map(showProblem).join('\n')
}

export function showProblem({ key, env, flag, from, value, why }: Problem): string {
  const names = [env, flag === null ? null : `--${flag}`].filter(name => name !== null)
  const place = from === null || from === 'default' ? '' : ` from ${from}`
  const found = value === null ? '' : `${value}${place}; `
  return `${key}${names.length > 0 ? ` (${names.join(', ')})` : ''}: ${found}${why}`
}

/** A raw value in a report: as JSON, so that control characters cannot affect a terminal. Secrets are hidden before it is truncated. */
export function quote(value: unknown, scrub: (line: string) => string): string {
  if (typeof value === 'object' && !Array.isArray(value)) return '{ … }'
  const quoted = scrub(JSON.stringify(value))
  return quoted.length > 80 ? `${quoted.slice(0, 79)}…` : quoted
}

export function plain(value: unknown): string | null {
  if (value === null) return null
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** By name, since nothing else is known about a variable that is not ours. */
const looksSecret = (variable: string): boolean => /KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL/i.test(variable)

// Hiding anything shorter would mangle every line that happens to contain those few characters.
const shortestSecret = 6

/** The secrets: these values, and the values of all variables whose name suggests a secret. */
export function secretsIn(values: readonly (string | null)[], ...environments: readonly Variables[]): string[] {
  const variables = environments.flatMap(environment => Object.entries(environment))
  const named = variables.flatMap(([name, value]) => (looksSecret(name) ? [value] : []))
  const all = [...values, ...named].map(value => value?.trim() ?? '')
  return [...new Set(all)].filter(secret => secret.length >= shortestSecret)
}

/** The result of reloading the configuration while the gateway runs. */
export type Reloaded =
  | {
      readonly ok: true
      /** Keys whose change takes effect now. */
      readonly applied: readonly string[]
      /** Keys whose change takes effect after a restart. */
      readonly later: readonly string[]
    }
  | { readonly ok: false; readonly why: string }

/** The reply to a request to reload. */
export function reloadInWords(reloaded: Reloaded): string {
  if (!reloaded.ok)
    return `Not reloaded: the configuration has mistakes. The last good configuration stays in use.\n${reloaded.why}`
  const { applied, later } = reloaded
  const lines = [
    ...(applied.length > 0 ? [`Takes effect immediately: ${applied.join(', ')}.`] : []),
    ...(later.length > 0 ? [`Takes effect after a restart: ${later.join(', ')}.`] : []),
  ]
  return lines.length > 0 ? lines.join('\n') : 'Nothing in the configuration has changed.'
}

/** A config.json with every option at its default and with comments. */
export function initialConfigFile(): string {
  const inFile = eachOption().filter(([, { outsideFile }]) => !outsideFile)
  const blocks: string[][] = []
  const seen = new Set<string>()
  for (const [key, row] of inFile) {
    const section = key.includes('.') ? key.slice(0, key.indexOf('.')) : null
    if (section === null) blocks.push(entry(key, row, '  '))
    else if (!seen.has(section)) {
      seen.add(section)
      const rows = inFile.filter(([other]) => other.startsWith(`${section}.`))
      const inner = rows.flatMap(([other, its]) => entry(other.slice(section.length + 1), its, '    '))
      blocks.push([`  "${section}": {`, ...inner, '  },'])
    }
  }
  return [...opening, ...blocks.flatMap(block => ['', ...block]), '}', ''].join('\n')
}

const opening = [
  '// Configuration of Aetheel. Flags, the environment and .env override this file; null means that an option is not set.',
  `// The folder of this file is set by ${options.config_dir.env} or --${options.config_dir.flag}.`,
  '{',
  '  // Variables, as if they were set in the environment; the backend gets them too. Any text in this file may use',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation that is explained
  '  // one as "${NAME}".',
  '  "env": { "vars": {} },',
]

function entry(name: string, row: Option<unknown>, indent: string): string[] {
  const value = typeof row.default === 'function' ? null : row.default
  const names = row.flag === undefined ? row.env : `${row.env}, --${row.flag}`
  return [
    `${indent}// ${row.description}`,
    `${indent}// ${names}: ${row.kind.allowed}`,
    `${indent}"${name}": ${JSON.stringify(value).replaceAll('","', '", "')},`,
  ]
}
