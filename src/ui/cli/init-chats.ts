// The part of `aetheel init` about chats: which ones, their tokens, and who owns the gateway there.
import { openProgress } from './chat/progress.ts'
import { createPage } from './doctor.ts'
import { type Chooser, Unclear } from './init-questions.ts'
import type { ChatToSetUp, Choices, Setup } from './ports.ts'
import type { Questions } from './questions.ts'

type ChatChoice = Pick<Choices, 'chats' | 'tokens'>

export async function whichChats(setup: Setup, chooser: Chooser): Promise<ChatChoice> {
  const { questions } = chooser
  const wanted = await namedChats(setup, chooser)
  const chats: string[] = []
  const tokens = new Map<string, string>()
  for (const chat of wanted) {
    const found = questions ? await askForTokens(chat, chooser, questions) : tokensFound(setup, chat, chooser)
    if (found === null) continue
    if (!questions && !(await areGood(chat, chooser, found)))
      throw new Error(`nothing was written: ${chat.label} must be reachable, and accept the token.`)
    chats.push(chat.name)
    for (const [variable, token] of found) tokens.set(variable, token)
  }
  return { chats, tokens }
}

/** `--discord-token-env` is from the time when there was only Discord. */
async function namedChats(setup: Setup, { flags, questions, say }: Chooser): Promise<readonly ChatToSetUp[]> {
  const byName = (name: string) => setup.chats.find(chat => chat.name === name)
  const all = setup.chats.map(({ name }) => name).join(', ')
  if (typeof flags.connect === 'string' || typeof flags.discordTokenEnv === 'string') {
    const names = typeof flags.connect === 'string' ? wordsIn(flags.connect) : []
    const unknown = names.find(name => !byName(name))
    if (unknown !== undefined) throw new Unclear(`--connect takes chats of this list, separated by commas: ${all}.`)
    const given = typeof flags.discordTokenEnv === 'string' ? ['discord', ...names] : names
    return setup.chats.filter(({ name }) => given.includes(name))
  }
  if (!questions) return []
  const set = setup.chats.filter(({ enabled }) => enabled).map(({ name }) => name)
  say()
  for (;;) {
    const question = `Which chats should it answer on, besides the browser and the terminal (${all}; or none)?`
    const names = wordsIn(await questions.ask(question, set.join(', ') || 'none'))
    if (names.every(name => name === 'none' || byName(name)))
      return setup.chats.filter(({ name }) => names.includes(name))
    say(`Enter names of this list, separated by commas: ${all}; or none.`)
  }
}

const wordsIn = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)

function tokensFound(setup: Setup, { name, secrets }: ChatToSetUp, { flags }: Chooser): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { variable } of secrets) {
    const other = name === 'discord' && typeof flags.discordTokenEnv === 'string' ? flags.discordTokenEnv : null
    const token = setup.variable(other ?? variable)
    if (token !== null) found.set(variable, token)
    else if (other !== null) throw new Unclear(`--discord-token-env names ${other}, which is not set.`)
    else throw new Unclear(`--connect ${name} needs ${variable}, which is not set.`)
  }
  return found
}

/** Null: leave this chat out. */
async function askForTokens(
  chat: ChatToSetUp,
  chooser: Chooser,
  questions: Questions,
): Promise<ReadonlyMap<string, string> | null> {
  const { say } = chooser
  say()
  say(`${chat.label}:`)
  if (!chat.hasTokens) for (const line of chat.how) say(line)
  for (;;) {
    const tokens = new Map<string, string>()
    for (const { variable, label } of chat.secrets) {
      const question = chat.hasTokens
        ? `A ${label} is set. Press Enter to keep it, or type another (not shown):`
        : `The ${label} (not shown; press Enter to go without ${chat.label}):`
      const token = await askForToken(question, chooser, questions)
      if (token === '' && !chat.hasTokens) return null
      if (token !== '') tokens.set(variable, token)
    }
    if (await areGood(chat, chooser, tokens)) return tokens
    if (tokens.size === 0) return null
  }
}

async function askForToken(question: string, { say }: Chooser, questions: Questions): Promise<string> {
  for (;;) {
    const token = await questions.askSecret(question)
    if (/^[!-~]*$/.test(token)) return token
    say('A token has no spaces, and only ASCII characters.')
  }
}

/** Prints the checks of the tokens. */
async function areGood(
  chat: ChatToSetUp,
  { terminal, flags, questions, signal }: Chooser,
  tokens: ReadonlyMap<string, string>,
): Promise<boolean> {
  const progress = openProgress(terminal.stderr, terminal.now, () => '')
  progress.show(`asking ${chat.label}`)
  const looked = await chat.probe(tokens, signal).finally(progress.close)
  const page = createPage(questions || flags.json === true ? terminal.stderr : terminal.stdout)
  for (const check of looked.checks) page.row(check)
  return looked.type === 'good'
}

/** `on`: the chats that are, or will be, on. */
export async function whoOwns(
  setup: Setup,
  { flags, questions, say }: Chooser,
  on: readonly string[],
): Promise<string | null> {
  if (typeof flags.owner === 'string') {
    if (flags.owner === 'later' || isUserId(setup.chats, flags.owner))
      return flags.owner === 'later' ? null : flags.owner
    const forms = setup.chats.map(({ name, userId }) => `${name}:ID (${userId.words})`).join(', ')
    throw new Unclear(`--owner takes the user id of an account, as ${forms}; or the word later.`)
  }
  const [chat] = setup.chats.filter(({ name }) => on.includes(name))
  if (!questions || !chat || setup.owners.length > 0) return null
  say()
  say('The owner may do everything.')
  for (const line of chat.userId.how) say(line)
  for (;;) {
    const question = `Your user id on ${chat.label} (press Enter to do this later, with a code from the bot):`
    const answer = await questions.ask(question, '')
    if (answer === '') return null
    if (chat.userId.form.test(answer)) return `${chat.name}:${answer}`
    say(`A user id on ${chat.label} is ${chat.userId.words}, and nothing else.`)
  }
}

/** An id without a chat is one of Discord. */
function isUserId(chats: readonly ChatToSetUp[], text: string): boolean {
  const [, name = 'discord', id = ''] = /^(?:([a-z]+):)?(.+)$/.exec(text) ?? []
  return chats.some(chat => chat.name === name && chat.userId.form.test(id))
}
