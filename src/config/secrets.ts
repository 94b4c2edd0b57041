// The secrets of a configuration: values of secret options, wherever they are set, and variables whose name suggests a secret.
import type { JsonValue } from './json.ts'
import type { SecretPart } from './kinds.ts'
import { eachOption, type Values } from './options/index.ts'
import { secretsIn } from './report.ts'
import type { Sources } from './resolve.ts'
import type { Variables } from './sources.ts'
import { substitute, variablesIn } from './variables.ts'

/** Called before anything is checked. A secret with an invalid format or in the wrong place is still a secret. */
export function secretsToHide({ bot, file, dotEnv, variables }: Sources): string[] {
  const { environment, vars } = variables
  const inFile = secretOptions().flatMap(({ key, isSecret }) => {
    const written = file.settings.get(key) ?? null
    // Text that comes from a variable, such as an argument of a server, may be shown elsewhere.
    const literal = textsIn(written).filter(text => variablesIn(text).length === 0)
    const filled = [...literal, ...textsIn(written, isSecret)].map(text => {
      const result = substitute(text, environment)
      return result.ok ? String(result.value) : text
    })
    return [...filled, ...valuesNamedIn(written, environment, isSecret)]
  })
  return secretsIn([...bot.misplaced.flatMap(value => textsIn(value)), ...inFile], environment, dotEnv, vars)
}

/** Of a structured value only the secret parts: the name of a program may be logged. */
export function secretsForTheLog(values: Values, { file, variables }: Sources): string[] {
  const { environment, vars } = variables
  const own = secretOptions().flatMap(({ key, isSecret }) => [
    ...textsIn(values[key], isSecret),
    ...valuesNamedIn(file.settings.get(key) ?? null, environment, isSecret),
  ])
  return secretsIn(own, environment, vars)
}

const secretOptions = () =>
  eachOption().flatMap(([key, { secret, kind }]) => (secret ? [{ key, isSecret: kind.isSecret ?? (() => true) }] : []))

/** `Bearer ${NAME}`: the value of the variable is a secret on its own, too. */
const valuesNamedIn = (written: JsonValue, environment: Variables, isSecret: SecretPart) =>
  textsIn(written, isSecret)
    .flatMap(variablesIn)
    .flatMap(name => (Object.hasOwn(environment, name) ? (environment[name] ?? []) : []))

function textsIn(value: unknown, isSecret: SecretPart = () => true, path: readonly string[] = []): string[] {
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([name, inner]) => textsIn(inner, isSecret, [...path, name]))
  }
  return value === null || !isSecret(path) ? [] : [String(value)]
}
