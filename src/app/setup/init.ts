// What `aetheel init` finds, and what it would write: config.json, .env, identity.md.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chatLabels, type RemoteChat } from '../../base/remote-chats.ts'
import { mask } from '../../base/scrub.ts'
import { remoteChats } from '../../chat/index.ts'
import {
  type Config,
  type JsonValue,
  type Loaded,
  type LoadFrom,
  loadConfig,
  options,
  readDotEnv,
  setVariables,
  showProblems,
  withSettings,
  withVariables,
} from '../../config/index.ts'
import { identityCalled } from '../../prompt/index.ts'
import { unified } from '../../store/index.ts'
import type { Choices, Plan, PlannedFile, Setup } from '../../ui/index.ts'
import { writeTogether } from './write-files.ts'

type Ready = Extract<Loaded, { ok: true }>

export function createSetup(from: LoadFrom, { config, environment, hide, values }: Ready): Setup {
  const { configDir, agent, owner } = config
  return {
    dir: configDir,
    backend: agent.backend,
    owners: owner.users,
    chats: Object.values(remoteChats).map(chat => ({
      ...{ name: chat.name, label: chatLabels[chat.name as RemoteChat], ...chat.setup },
      enabled: chat.isOn(config),
      hasTokens: chat.setup.secrets.every(({ variable }) =>
        values.some(({ env, from: source }) => env === variable && source !== 'default'),
      ),
      probe: async (tokens, signal) => chat.probe((await withTokens(from, tokens)) ?? config, signal),
    })),
    named: existsSync(join(configDir, 'identity.md')),
    async backends(signal) {
      const { backendsFor } = await import('../doctor/index.ts')
      return backendsFor(from, signal)
    },
    variable: name => environment[name] ?? null,
    plan: choices => planFor(from, config, hide, choices),
  }
}

/** The configuration as it would be with these tokens; null: it would not load. */
async function withTokens(from: LoadFrom, tokens: ReadonlyMap<string, string>): Promise<Config | null> {
  const loaded = await loadConfig({ ...from, env: { ...from.env, ...Object.fromEntries(tokens) } })
  return loaded.ok ? loaded.config : null
}

const opening = '// Configuration of Aetheel. "npx aetheel config show" lists every option.\n{}\n'

async function planFor(from: LoadFrom, config: Config, hide: Ready['hide'], choices: Choices): Promise<Plan> {
  const { configDir } = config
  const settings = settingsFor(choices, config)
  const variables = variablesFor(choices, configDir)
  const configFile = await edited(join(configDir, 'config.json'), opening, text => withSettings(text, settings))
  const dotEnv = await edited(join(from.cwd, '.env'), '', text => withVariables(text, variables))
  const identity = await edited(join(configDir, 'identity.md'), '', text =>
    choices.name === null || text !== '' ? text : identityCalled(choices.name),
  )
  const changes = [
    ...(settings.size > 0 ? [{ ...configFile, keep: true }] : []),
    ...(variables.size > 0 ? [{ ...dotEnv, keep: false }] : []),
    ...(identity.after === (identity.before ?? '') ? [] : [{ ...identity, keep: false }]),
  ].filter(({ before, after }) => before !== after)
  // Hides the new tokens, and the other secrets in the lines shown.
  const hideAll = (text: string) =>
    hide([...choices.tokens.values()].reduce((so, one) => so.replaceAll(one, mask), text))
  const files = changes.map(change => shown(change, hideAll))
  return {
    files,
    warnings: await remarksOn(from, configFile.after, variables, choices),
    write: () =>
      writeTogether(
        changes.map(({ path, before, after }, i) => ({ path, before, text: after, copy: files[i]?.copy ?? null })),
      ),
  }
}

function settingsFor({ backend, chats, owner }: Choices, config: Config): ReadonlyMap<string, JsonValue> {
  const owners = config.owner.users
  return new Map<string, JsonValue>([
    ...(backend === null ? [] : [['agent.backend', backend] as const]),
    ...chats.filter(name => !isEnabled(config, name)).map(name => [`${name}.enabled`, true] as const),
    ...(owner === null || owners.includes(owner) ? [] : [['owner.users', [...owners, owner]] as const]),
  ])
}

const isEnabled = (config: Config, name: string): boolean => config[name as RemoteChat].enabled

const variablesFor = ({ tokens, rememberDir }: Choices, configDir: string): ReadonlyMap<string, string> =>
  new Map([...tokens, ...(rememberDir ? [[options.config_dir.env, configDir] as const] : [])])

interface Edited {
  readonly path: string
  readonly before: string | null
  readonly after: string
}

async function edited(path: string, empty: string, edit: (text: string) => string | Promise<string>): Promise<Edited> {
  const before = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new Error(`${path} cannot be read (${error.code})`, { cause: error })
  })
  return { path, before, after: await edit(before ?? empty) }
}

function shown({ path, before, after, keep }: Edited & { readonly keep: boolean }, hide: Ready['hide']): PlannedFile {
  const copy = before === null || !keep ? null : firstFree(path)
  // For .env only added lines are shown: the existing ones may contain secrets of other programs.
  const diff = unified(before ?? '', after)
  const lines = keep || before === null ? diff : diff.replace(/^[^+].*\n/gm, '')
  return { path, isNew: before === null, diff: hide(lines), copy }
}

function firstFree(path: string): string {
  for (let n = 1; ; n++) {
    const copy = `${path}.${n === 1 ? 'old' : `old-${n}`}`
    if (!existsSync(copy)) return copy
  }
}

/** Loads the result. Rejects if it would not load; returns a warning for each choice that something else overrides. */
async function remarksOn(
  from: LoadFrom,
  configText: string,
  variables: ReadonlyMap<string, string>,
  choices: Choices,
): Promise<readonly string[]> {
  const dotEnv = await readDotEnv(from.cwd, { problems: [], warnings: [] })
  const env = { ...dotEnv, ...Object.fromEntries(variables), ...setVariables(from.env) }
  const loaded = await loadConfig({ ...from, env, instead: { 'config.json': configText } })
  if (!loaded.ok)
    throw new Error(`these settings do not work together, so nothing was written:\n${showProblems(loaded.problems)}`)
  const { config, values } = loaded
  const wins = (key: keyof typeof options, lost: boolean) =>
    values
      .filter(value => lost && value.key === key)
      .map(({ key, env: name, from: place }) => {
        if (place === 'bot-config.json') return `${key} is set in bot-config.json and overrides this.`
        return `${name} is set in ${from.env[name] ? 'the environment' : '.env'} and overrides this.`
      })
  return [
    ...wins('config_dir', choices.rememberDir && (from.env.CONFIG_DIR ?? config.configDir) !== config.configDir),
    ...wins('agent.backend', choices.backend !== null && config.agent.backend !== choices.backend),
    ...choices.chats.flatMap(name => wins(`${name as RemoteChat}.enabled`, !isEnabled(config, name))),
    ...[...choices.tokens]
      .filter(([variable, token]) => env[variable] !== token)
      .map(([variable]) => `${variable} is set in the environment and overrides this.`),
    ...wins('owner.users', choices.owner !== null && !config.owner.users.includes(choices.owner)),
  ]
}
