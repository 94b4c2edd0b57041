// Detects whether somebody has logged in to a CLI: a variable is set, or a file exists in the home folder. Never reads the contents.
import { existsSync } from 'node:fs'
import { claude } from './backends/claude.ts'
import { claudeSdk } from './backends/claude-sdk.ts'
import { dialects } from './backends/index.ts'
import { placeOf } from './box-home.ts'
import type { Dialect } from './cli.ts'

/** Null: no sign found. That is no proof: macOS keeps some logins in its keychain. */
export type LoginSign = { readonly variable: string } | { readonly file: string } | null

export interface Login {
  readonly sign: LoginSign
  /** What to type to log in. */
  readonly command: string
  /** Variables that work instead of a login. */
  readonly variables: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Null: this backend needs no login. */
export function loginOf(backend: string, environment: Environment, home: string): Login | null {
  const dialect = dialectOf(backend)
  if (!dialect) return null
  const { credentials } = dialect
  return {
    sign: signOfLogin(credentials, environment, home),
    command: loginCommand(dialect),
    variables: credentials.variables,
  }
}

/** The SDK has no login of its own: it uses that of claude. */
const dialectOf = (backend: string) =>
  dialects.find(one => one.name === (backend === claudeSdk ? claude.name : backend))

/** What to type to log in to a backend. */
export function loginWith(backend: string): string {
  const dialect = dialectOf(backend)
  return dialect ? loginCommand(dialect) : backend
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

/** The command in the install sentence, else the name: most CLIs ask for a login when started by hand. */
export function loginCommand({ name, install }: Pick<Dialect, 'name' | 'install'>): string {
  return /log in once with `([^`]+)`/.exec(install)?.[1] ?? name
}

const isOn = (value: string | undefined) => !['', '0', 'false'].includes(value?.trim() ?? '')
