// Loads the configuration. Precedence: flags, environment, `.env`, bot-config.json, config.json, defaults. Checked as a whole, then frozen.
import { resolve } from 'node:path'
import type { ConfigTexts } from '../base/config-files.ts'
import { mask, secretHider } from '../base/scrub.ts'
import { type Config, configFrom } from './config.ts'
import { eachOption, findingsIn, isPrivate, type OptionKey, options } from './options/index.ts'
import { plain, type ShownValue } from './report.ts'
import { pick, type Settled, type Sources, settle } from './resolve.ts'
import { secretsForTheLog, secretsToHide } from './secrets.ts'
import {
  type From,
  type Problem,
  type Remarks,
  readBotConfig,
  readConfigFile,
  readDotEnv,
  setVariables,
  type Variables,
  warnOfMisspelledVariables,
} from './sources.ts'
import { resolveVariables } from './variables.ts'

export type Loaded =
  | {
      readonly ok: true
      readonly config: Config
      readonly warnings: readonly string[]
      readonly values: readonly ShownValue[]
      /** Whether a source sets it. Cheaper than `values`, which computes every default. */
      isSet(key: OptionKey): boolean
      /** The values with their sources, and the keys that are set in bot-config.json. */
      readonly settled: Settled
      readonly inBotConfig: ReadonlySet<OptionKey>
      /** Removes secrets from a value that is to be shown. */
      hide(text: string): string
      /** Everything that must not appear in a log: our secrets, and variables whose name suggests a secret. */
      readonly secrets: readonly string[]
      /** The environment, with `.env` and `env.vars` as fallbacks: the variables that `config.agent.env` selects from. */
      readonly environment: Variables
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly warnings: readonly string[] }

export interface LoadFrom {
  /** By the flag's name in camelCase: `configDir`. Unknown flags are ignored. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly instead?: ConfigTexts | undefined
}

/** Mistakes are values: this never throws because of what somebody wrote, and reports all mistakes at once. */
export async function loadConfig(from: LoadFrom): Promise<Loaded> {
  const remarks: Remarks = { problems: [], warnings: [] }
  const sources = await readSources(from, remarks)
  const { environment, vars } = sources.variables
  const scrub = secretHider(secretsToHide(sources))
  const settled = settle(sources, scrub, remarks)
  checkTogether(settled, remarks)
  warnOfVariables(settled, environment, remarks)

  const warnings = remarks.warnings.map(scrub)
  if (remarks.problems.length > 0) {
    return { ok: false, problems: remarks.problems.map(problem => ({ ...problem, why: scrub(problem.why) })), warnings }
  }
  return {
    ok: true,
    config: configFrom(settled.values, forBackends(vars)),
    warnings,
    get values() {
      return shownValues(settled, sources, scrub)
    },
    isSet: key => settled.from.get(key) !== 'default',
    settled,
    inBotConfig: new Set(sources.bot.settings.keys()),
    hide: scrub,
    get secrets() {
      return secretsForTheLog(settled.values, sources)
    },
    environment: Object.freeze(environment),
  }
}

async function readSources(from: LoadFrom, remarks: Remarks): Promise<Sources> {
  const process = setVariables(from.env)
  const dotEnv = await readDotEnv(from.cwd, remarks)
  const outer = { ...dotEnv, ...process }
  const early = {
    ...{ flags: from.flags, process, dotEnv, variables: resolveVariables(new Map(), outer) },
    ...{ bot: { settings: new Map(), misplaced: [] }, file: { settings: new Map(), vars: new Map() } },
  }
  const chosen = pick('config_dir', options.config_dir, early)?.raw ?? options.config_dir.default
  const folder = resolve(from.cwd, String(chosen).trim())
  const file = await readConfigFile(folder, remarks, from.instead?.['config.json'])
  const bot = await readBotConfig(folder, remarks, from.instead?.['bot-config.json'])
  const variables = resolveVariables(file.vars, outer)
  for (const { name, why } of variables.mistakes) {
    remarks.problems.push({ key: `env.vars.${name}`, env: null, flag: null, from: 'config.json', value: null, why })
  }
  return { ...early, folder, bot, file, variables }
}

/** An option whose value was already rejected gets no further report. */
function checkTogether({ values, from, bad }: Settled, { problems, warnings }: Remarks): void {
  for (const finding of findingsIn(values, key => from.get(key) !== 'default')) {
    if ('warning' in finding) warnings.push(finding.warning)
    else if (!bad.has(finding.key)) {
      const { key, why } = finding
      problems.push({ key, env: options[key].env, flag: null, from: null, value: null, why })
    }
  }
}

function warnOfVariables({ values }: Settled, environment: Variables, { warnings }: Remarks): void {
  const passedOn = values['agent.env']
  for (const name of passedOn.filter(name => !Object.hasOwn(environment, name))) {
    warnings.push(`agent.env names ${name}, which is not set`)
  }
  warnOfMisspelledVariables(environment, passedOn, warnings)
}

const forBackends = (vars: Variables): Variables =>
  Object.fromEntries(Object.entries(vars).filter(([name]) => !isPrivate(name)))

function shownValues(
  { values, from }: Settled,
  { process, dotEnv, variables }: Sources,
  scrub: (line: string) => string,
): ShownValue[] {
  const rows = eachOption().map(([key, { env, secret, description }]): ShownValue => {
    const value = plain(values[key])
    const safe = value === null ? null : !secret ? scrub(value) : value === '' ? '' : mask
    return { key, env, value: safe, from: from.get(key) ?? 'default', description }
  })
  const origin = (name: string): From =>
    Object.hasOwn(process, name) ? 'environment' : Object.hasOwn(dotEnv, name) ? '.env' : 'config.json'
  // Any of these may be a secret, whatever its name.
  const vars = Object.keys(variables.vars).map(
    (name): ShownValue => ({
      key: `env.vars.${name}`,
      env: name,
      value: mask,
      from: origin(name),
      description: 'A variable for the backend.',
    }),
  )
  return [...rows, ...vars]
}
