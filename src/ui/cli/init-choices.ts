// What `aetheel init` has to know: asked at the terminal, otherwise from flags and what is found.
import { openProgress } from './chat/progress.ts'
import { whereOf } from './gateway-client.ts'
import { whichChats, whoOwns } from './init-chats.ts'
import { type Chooser, Unclear } from './init-questions.ts'
import type { Choices, CliPorts, Flags, FoundBackend, Setup } from './ports.ts'
import type { Questions } from './questions.ts'
import { aligned, type Terminal } from './terminal.ts'

export interface Chosen {
  readonly setup: Setup
  readonly choices: Choices
  /** The flags by which other commands find the workspace. */
  readonly where: Flags
}

export const choosers = (
  terminal: Terminal,
  flags: Flags,
  questions: Questions | null,
  say: (text?: string) => void,
  signal: AbortSignal,
): Chooser => ({ terminal, flags, questions, say, signal })

export async function choose(ports: CliPorts, flags: Flags, chooser: Chooser): Promise<Chosen> {
  const { questions } = chooser
  const usual = await ports.setup(whereOf(flags))
  if (!questions && flags.yes !== true) throw new Unclear(await whatIsMissing(usual, chooser))
  const elsewhere = await workspace(usual, chooser)
  const setup = elsewhere === null ? usual : await ports.setup({ configDir: elsewhere })
  const where = elsewhere === null ? whereOf(flags) : { configDir: setup.dir }
  const backend = await whoAnswers(setup, chooser)
  const { chats, tokens } = await whichChats(setup, chooser)
  const owner = await whoOwns(setup, chooser, chatsOn(setup, chats))
  const name = await called(setup, chooser)
  const choices = { backend, chats, tokens, owner, name, rememberDir: setup.dir !== usual.dir }
  return { setup, choices, where }
}

/** The chats that are, or will be, on. */
export const chatsOn = ({ chats }: Setup, chosen: readonly string[]): readonly string[] =>
  chats.filter(({ name, enabled }) => enabled || chosen.includes(name)).map(({ name }) => name)

/** Null for the default folder. */
async function workspace({ dir }: Setup, { flags, questions }: Chooser): Promise<string | null> {
  if (!questions || flags.configDir !== undefined) return null
  const answer = await questions.ask('Where should the workspace be, with its memory and settings?', dir)
  return answer === dir ? null : answer
}

async function look(setup: Setup, { terminal, signal }: Chooser): Promise<readonly FoundBackend[]> {
  const progress = openProgress(terminal.stderr, terminal.now, () => '')
  progress.show('looking for agents on this machine')
  try {
    const found = await setup.backends(signal)
    const rank = ({ runs, loggedIn }: FoundBackend) => (runs ? (loggedIn === false ? 1 : 0) : 2)
    return found.toSorted((a, b) => rank(a) - rank(b))
  } finally {
    progress.close()
  }
}

const echo: FoundBackend = {
  name: 'echo',
  runs: true,
  loggedIn: null,
  detail: 'repeats what you write, to try things out',
  fix: '',
}

async function whoAnswers(setup: Setup, chooser: Chooser): Promise<string | null> {
  const { flags, questions, say } = chooser
  const all = [...(await look(setup, chooser)), echo]
  const usable = all.filter(({ runs }) => runs)
  if (typeof flags.backend === 'string') return mustRun(flags.backend, all)
  if (!questions) {
    if (setup.backend !== null) return null
    const [first] = usable
    if (first && first !== echo) return first.name
    throw new Unclear('no agent was found on this machine. Install one, or use --backend echo to start without one.')
  }
  const missing = all.filter(({ runs }) => !runs).map(({ name }) => name)
  say('Which agent should answer? Found on this machine:')
  for (const line of aligned(usable.map(({ name, detail }, i) => [`  ${i + 1}`, name, detail]))) say(line)
  if (missing.length > 0) {
    say(`Not installed: ${missing.join(', ')}.`)
    say('"npx aetheel doctor" says how to install them.')
  }
  const usual = usable.find(({ name }) => name === setup.backend)?.name ?? usable[0]?.name ?? 'echo'
  for (;;) {
    const answer = await questions.ask('Its number or name:', usual)
    const chosen = usable[Number(answer) - 1] ?? usable.find(({ name }) => name === answer)
    if (chosen) return chosen.name === setup.backend ? null : chosen.name
    const why = all.find(({ name }) => name === answer)
    say(
      why
        ? `${why.name} cannot be used: ${why.detail}. ${why.fix}`
        : `Enter a number from 1 to ${usable.length}, or a name.`,
    )
  }
}

function mustRun(name: string, all: readonly FoundBackend[]): string {
  const found = all.find(one => one.name === name)
  if (found?.runs) return name
  throw new Error(`${name} cannot be used: ${found?.detail ?? 'it is not known'}. ${found?.fix ?? ''}`.trim())
}

/** Asked only once: afterwards the name is in identity.md, which is edited by hand. */
async function called({ named }: Setup, { flags, questions, say }: Chooser): Promise<string | null> {
  const given = typeof flags.name === 'string' ? flags.name.trim() : null
  if (named) {
    if (given !== null) throw new Unclear('there is an identity.md already: change the name in it.')
    return null
  }
  if (given !== null || !questions) return given || null
  say()
  const answer = await questions.ask('What should the agent be called?', 'Aetheel')
  return answer === 'Aetheel' ? null : answer
}

async function whatIsMissing(setup: Setup, chooser: Chooser): Promise<string> {
  const found = (await look(setup, chooser)).filter(({ runs }) => runs).map(({ name }) => name)
  return [
    'there is no terminal to ask at. Use --yes to take what is found, with any of these options:',
    ...aligned([
      [
        '  --backend NAME',
        found.length === 0
          ? 'the backend that answers; none was found, but echo always works'
          : `the backend that answers; found: ${found.join(', ')}`,
      ],
      [
        '  --connect CHATS',
        `${setup.chats.map(one => one.name).join(', ')}; their tokens are read from ${setup.chats.flatMap(one => one.secrets.map(({ variable }) => variable)).join(', ')}`,
      ],
      ['  --owner CHAT:ID', 'the user id of its owner on one of them, or: later'],
      ['  --name NAME', 'what it is called'],
    ]),
  ].join('\n')
}
