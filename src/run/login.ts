// Signs that somebody has logged in to a CLI: a variable that is set, a file in the home folder. Looks at names, never inside.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { dialects } from './backends/index.ts'
import type { Dialect } from './cli.ts'

/** Null: no sign of it, which is no proof either: a Mac keeps some logins in its keychain. */
export type LoginSign = { readonly variable: string } | { readonly file: string } | null

export interface Login {
  readonly sign: LoginSign
  /** What to type to log in. */
  readonly command: string
  /** Variables that would do instead. */
  readonly variables: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Null: this backend has nothing to log in to. */
export function loginOf(backend: string, environment: Environment, home: string): Login | null {
  const dialect = dialects.find(one => one.name === backend)
  if (!dialect) return null
  const { credentials } = dialect
  return {
    sign: signOfLogin(credentials, environment, home),
    command: loginCommand(dialect),
    variables: credentials.variables,
  }
}

export function signOfLogin(
  { variables, files }: Dialect['credentials'],
  environment: Environment,
  home: string,
): LoginSign {
  const variable = variables.find(name => isOn(environment[name]))
  if (variable !== undefined) return { variable }
  const file = files.map(name => placeOf(name, environment, home)).find(path => existsSync(path))
  return file === undefined ? null : { file }
}

/** As the sentence on installing it says, else its name: started by hand, most of them ask. */
export function loginCommand({ name, install }: Pick<Dialect, 'name' | 'install'>): string {
  return /log in once with `([^`]+)`/.exec(install)?.[1] ?? name
}

const isOn = (value: string | undefined) => !['', '0', 'false'].includes(value?.trim() ?? '')

/** Folders below HOME that people move, and the variable by which they do. */
const moved: Readonly<Record<string, string>> = {
  '.local/share/': 'XDG_DATA_HOME',
  '.config/': 'XDG_CONFIG_HOME',
  '.claude/': 'CLAUDE_CONFIG_DIR',
  '.codex/': 'CODEX_HOME',
  '.pi/agent/': 'PI_CODING_AGENT_DIR',
}

function placeOf(file: string, environment: Environment, home: string): string {
  const folder = Object.keys(moved).find(one => file.startsWith(one)) ?? ''
  const elsewhere = environment[moved[folder] ?? '']?.trim()
  return elsewhere ? join(elsewhere, file.slice(folder.length)) : join(home, file)
}
