// The backend checks of `aetheel doctor`: where each is, whether it runs, whether it is logged in, and which one answers.
import { type Backend, type BackendCheck, backendNames } from '../../base/agent.ts'
import type { Check } from '../../base/check.ts'
import { isConfigFile } from '../../base/config-files.ts'
import type { Config, Loaded } from '../../config/index.ts'
import {
  type BackendParts,
  type Choice,
  chooseBackend,
  createBackend,
  dialects,
  findProgram,
  type Login,
  loginOf,
  pathHint,
} from '../../run/index.ts'
import type { FoundBackend } from '../../ui/index.ts'
import { sampleTurn } from '../wiring/backends.ts'

type Ready = Extract<Loaded, { ok: true }>

export interface BackendSearch {
  readonly parts: BackendParts
  /** Null if the configuration has mistakes; then no backend is chosen. */
  readonly loaded: Ready | null
  readonly home: string
}

export interface FoundBackends {
  readonly checks: readonly Check[]
  readonly each: readonly FoundBackend[]
  /** What to do if the chosen backend cannot be used. Empty if nothing is known. */
  readonly fix: string
  /** Why there is no point in asking the chosen backend. Null if it runs. */
  readonly useless: string | null
}

/** In parallel, since each backend has to be started once. */
export async function findBackends(search: BackendSearch, signal: AbortSignal): Promise<FoundBackends> {
  const { parts, loaded } = search
  const choice = loaded && chooseBackend(loaded.config.agent.backend, parts)
  const chosen = choice?.ok ? choice.backend : null
  const names = [...new Set([...dialects.map(one => one.name), ...backendNames])].filter(name => name !== 'echo')
  const rows = await Promise.all(
    names.map(name => {
      const isChosen = name === chosen?.name
      const backend = isChosen ? chosen : createBackend(name, { ...parts, program: null })
      return backend && look(backend, isChosen ? 'chosen' : importanceOf(name, loaded?.config), search, signal)
    }),
  )
  const found = rows.filter(row => row !== null)
  const its = found.find(({ check }) => check.name === chosen?.name)
  const echoForLack = chosen?.name === 'echo' && loaded?.config.agent.backend === null
  return {
    checks: [
      choice && loaded ? choiceCheck(choice, loaded) : nobodyChosen,
      ...found.flatMap(({ check }) => [
        check,
        ...(check.name === chosen?.name ? ignoredBy(chosen, loaded?.config) : []),
      ]),
    ],
    each: found.map(({ check, fix, runs, loggedIn }) => ({
      name: check.name,
      detail: check.detail,
      fix,
      runs,
      loggedIn,
    })),
    fix: its?.fix ?? '',
    useless: whyUseless(chosen, its?.check, echoForLack),
  }
}

function whyUseless(chosen: Backend | null, its: Check | undefined, echoForLack: boolean): string | null {
  if (!chosen) return 'no backend is chosen'
  if (echoForLack) return 'there is no agent to ask'
  return its?.status === 'fail' ? `${chosen.name} does not run` : null
}

const nobodyChosen: Check = {
  name: 'backend',
  status: 'off',
  detail: 'a backend is chosen once the configuration is valid',
}

function choiceCheck(choice: Choice, { config, values }: Ready): Check {
  const name = 'backend'
  if (!choice.ok) return { name, status: 'fail', detail: choice.why }
  const { backend } = choice
  const from = values.find(({ key }) => key === 'agent.backend')?.from ?? 'default'
  const setting = from === 'flag' ? '--backend' : isConfigFile(from) ? `agent.backend in ${from}` : 'AGENT_BACKEND'
  if (config.agent.backend !== null) {
    const repeats = backend.name === 'echo' ? ', which only repeats what you write' : ''
    return { name, status: 'ok', detail: `${backend.name} answers${repeats}: set by ${setting}` }
  }
  if (backend.name !== 'echo')
    return {
      name,
      status: 'ok',
      detail: `${backend.name} answers: the first one found, because AGENT_BACKEND is not set`,
    }
  const [first] = dialects
  const detail = 'no agent CLI was found, so only echo answers, which repeats what you write'
  return {
    name,
    status: 'warn',
    detail,
    ...(first ? { fix: `For example ${first.name}: ${first.install} ${pathHint}` } : {}),
  }
}

/** `fallback`: named in the configuration in addition to the chosen one. */
type Importance = 'chosen' | 'fallback' | 'none'

function importanceOf(name: string, config: Config | undefined): Importance {
  const routes = Object.values(config?.views.models ?? {}).map(route => route?.backend)
  return [...(config?.agent.fallback ?? []), ...routes].some(one => one === name) ? 'fallback' : 'none'
}

interface Row extends Pick<FoundBackend, 'runs' | 'loggedIn'> {
  readonly check: Check
  readonly fix: string
}

async function look(
  backend: Backend,
  importance: Importance,
  { parts, home }: BackendSearch,
  signal: AbortSignal,
): Promise<Row> {
  const { name } = backend
  const dialect = dialects.find(one => one.name === name)
  const result = await backend.check(signal)
  const install = dialect ? (importance === 'chosen' ? `${dialect.install} ${pathHint}` : dialect.install) : ''
  const words = wordsOf(name, result, install)
  if (!result.ok) {
    const program = (importance === 'chosen' ? parts.program : null) ?? name
    const missing = !dialect || findProgram(program, parts.environment.PATH) === null
    const status = importance === 'chosen' ? 'fail' : importance === 'none' && missing ? 'off' : 'warn'
    const row = { fix: install, runs: false, loggedIn: null }
    if (status === 'off' && dialect)
      return { ...row, check: withFix({ name, status, detail: 'not installed' }, shortly(install)) }
    return { ...row, check: withFix({ name, status, detail: words }, install) }
  }
  const login = loginOf(name, parts.environment, home)
  const fix = login ? `Log in once with \`${login.command}\`${orVariable(login)}.` : ''
  const row = { fix, runs: true, loggedIn: login && login.sign !== null }
  if (!login || login.sign !== null)
    return { ...row, check: { name, status: 'ok', detail: login ? `${words}; ${signIn(login, home)}` : words } }
  const detail = `${words}; no sign of a login`
  if (importance === 'none') return { ...row, check: { name, status: 'ok', detail } }
  return { ...row, check: withFix({ name, status: 'warn', detail }, fix) }
}

/** Only the command of the install hint, for backends that are not needed now. */
const shortly = (install: string) => /`[^`]+`/.exec(install)?.[0] ?? install

/** Without the name at the start and the install hint at the end, which are shown separately. */
const wordsOf = (name: string, { detail }: BackendCheck, install: string) =>
  detail.replace(`${name}: `, '').replace(install, '').trim().replace(/\.$/, '')

function signIn({ sign }: Login, home: string): string {
  if (sign === null) return ''
  if ('variable' in sign) return `logged in by ${sign.variable}`
  return `logged in by ${sign.file.startsWith(`${home}/`) ? sign.file.replace(home, '~') : sign.file}`
}

const orVariable = ({ variables: [first] }: Login) => (first ? `, or set ${first}` : '')

/** The settings that this backend cannot honour. */
const ignoredBy = (backend: Backend, config: Config | undefined): Check[] =>
  (config ? backend.ignores(sampleTurn(config)) : []).map(detail => ({ name: backend.name, status: 'warn', detail }))

const withFix = (check: Check, fix: string): Check => (fix === '' ? check : { ...check, fix })
