// The backends, as `aetheel doctor` looks at them: where each is, whether it runs, whether somebody has logged in, who is to answer.
import { type Backend, type BackendCheck, backendNames } from '../base/agent.ts'
import { isConfigFile } from '../base/config-files.ts'
import {
  type BackendParts,
  type Choice,
  chooseBackend,
  dialects,
  findProgram,
  type Login,
  loginOf,
  openBackend,
  pathHint,
} from '../run/index.ts'
import type { Check, FoundBackend } from '../ui/index.ts'
import { sampleTurn } from './backends.ts'
import type { Config, Loaded } from './config.ts'

type Ready = Extract<Loaded, { ok: true }>

export interface BackendSearch {
  readonly parts: BackendParts
  /** Null: the configuration has mistakes, so nobody is chosen. */
  readonly loaded: Ready | null
  readonly home: string
}

export interface FoundBackends {
  readonly checks: readonly Check[]
  readonly each: readonly FoundBackend[]
  /** What to do when the chosen one cannot be used; empty: nothing is known. */
  readonly fix: string
  /** Why the chosen one need not be asked; null: it runs. */
  readonly useless: string | null
}

/** All of them side by side: each has to be started once. */
export async function findBackends(search: BackendSearch, signal: AbortSignal): Promise<FoundBackends> {
  const { parts, loaded } = search
  const choice = loaded && chooseBackend(loaded.config.agent.backend, parts)
  const chosen = choice?.ok ? choice.backend : null
  const names = [...new Set([...dialects.map(one => one.name), ...backendNames])].filter(name => name !== 'echo')
  const rows = await Promise.all(
    names.map(name => {
      const isChosen = name === chosen?.name
      const backend = isChosen ? chosen : openBackend(name, { ...parts, program: null })
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
  detail: 'who answers can be told when the configuration is good',
}

function choiceCheck(choice: Choice, { config, values }: Ready): Check {
  const name = 'backend'
  if (!choice.ok) return { name, status: 'fail', detail: choice.why }
  const { backend } = choice
  const from = values.find(({ key }) => key === 'agent.backend')?.from ?? 'default'
  const wish = from === 'flag' ? '--backend' : isConfigFile(from) ? `agent.backend in ${from}` : 'AGENT_BACKEND'
  if (config.agent.backend !== null) {
    const repeats = backend.name === 'echo' ? ', which only repeats what you write' : ''
    return { name, status: 'ok', detail: `${backend.name} answers${repeats}: ${wish} says so` }
  }
  if (backend.name !== 'echo')
    return {
      name,
      status: 'ok',
      detail: `${backend.name} answers: the first that was found, as AGENT_BACKEND is not set`,
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

/** `stand-by`: named in the configuration beside the chosen one. */
type Importance = 'chosen' | 'stand-by' | 'none'

function importanceOf(name: string, config: Config | undefined): Importance {
  const routes = Object.values(config?.models ?? {}).map(route => route?.backend)
  return [...(config?.agent.fallback ?? []), ...routes].some(one => one === name) ? 'stand-by' : 'none'
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

/** Of the sentence on installing it the command, for those who do not need it now. */
const shortly = (install: string) => /`[^`]+`/.exec(install)?.[0] ?? install

/** Without the name in front and the advice behind, which are shown elsewhere. */
const wordsOf = (name: string, { detail }: BackendCheck, install: string) =>
  detail.replace(`${name}: `, '').replace(install, '').trim().replace(/\.$/, '')

function signIn({ sign }: Login, home: string): string {
  if (sign === null) return ''
  if ('variable' in sign) return `logged in by ${sign.variable}`
  return `logged in by ${sign.file.startsWith(`${home}/`) ? sign.file.replace(home, '~') : sign.file}`
}

const orVariable = ({ variables: [first] }: Login) => (first ? `, or set ${first}` : '')

/** What of the configuration it cannot honour. */
const ignoredBy = (backend: Backend, config: Config | undefined): Check[] =>
  (config ? backend.ignores(sampleTurn(config)) : []).map(detail => ({ name: backend.name, status: 'warn', detail }))

const withFix = (check: Check, fix: string): Check => (fix === '' ? check : { ...check, fix })
