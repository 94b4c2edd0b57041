// The commands and their options. The code of a command is loaded when it is called.
import { Command, CommanderError, type HelpConfiguration, InvalidArgumentError, Option } from 'commander'
import { chatLabels } from '../../base/remote-chats.ts'
import { addApprovals, addCron, addLogins, addLogs, addMemory, addPair, addSessions } from './admin-commands.ts'
import { type Action, backendOption, examples, levelOption, type Making } from './command.ts'
import type { CliPorts, Flags } from './ports.ts'
import { addCompletion, addDoctor, addInit, addSecurity, addService } from './setup-commands.ts'
import { paintFor, type Terminal } from './terminal.ts'

/** Usage errors become exit code 2; everything else is thrown. */
export async function runProgram(
  args: readonly string[],
  ports: CliPorts,
  terminal: Terminal,
  version: string,
): Promise<number> {
  let code = 0
  const program = buildProgram(ports, terminal, version, exit => (code = exit))
  try {
    await program.parseAsync(startByDefault(program, args), { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    throw error
  }
}

/** `ended` receives the exit code of the command that ran. */
export function buildProgram(
  ports: CliPorts,
  terminal: Terminal,
  version: string,
  ended: (code: number) => void,
): Command {
  const program = new Command('aetheel')
    .description('A gateway on your own machine between people and the coding agent you already have.')
    .usage('[command] [options]')
    .option('--config-dir <folder>', 'the workspace (default: CONFIG_DIR or ./config)')
    .version(version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp(helpFor(terminal))
    .configureOutput(outputTo(terminal))
    .exitOverride()
  examples(program, [
    'npx aetheel init                        # sets it up',
    'npx aetheel                             # starts it',
    'npx aetheel chat "what is new?"',
  ])

  const action: Action =
    run =>
    async (...given) => {
      const command = given.at(-1)
      if (!(command instanceof Command)) throw new TypeError('commander hands the command over last')
      ended(await run(command.optsWithGlobals<Flags>(), command.args))
    }
  const making: Making = { program, ports, terminal, action, version }
  addInit(making)
  addStart(program, ports, action)
  addStatus(program, ports, terminal, action)
  addChat(program, ports, terminal, action)
  addPair(making)
  addLogins(making)
  addCron(making)
  addSessions(making)
  addMemory(making)
  addApprovals(making)
  addLogs(making)
  addConfig(program, ports, terminal, action)
  addDoctor(making)
  addSecurity(making)
  addService(making)
  addCompletion(making)
  pointToHelp(program, 'npx aetheel')
  return program
}

/** After every usage error: how to get the help of that command. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`"${words} --help" shows how.`)
  for (const below of command.commands) pointToHelp(below, `${words} ${below.name()}`)
}

function addStart(program: Command, ports: CliPorts, action: Action): void {
  const start = program
    .command('start')
    .description('run the gateway until Ctrl-C (the default command)')
    .addOption(backendOption('the backend that answers; echo repeats what you write'))
    .addOption(new Option('--claude', 'the same as --backend claude').conflicts(['backend', 'test']))
    .addOption(new Option('--test', 'try it without an agent: the same as --backend echo').conflicts(['backend']))
    .option('--model <name>', 'the model to use')
    .option('--webchat', 'serve WebChat, which is always on')
    .option('--port <number>', 'the port of the chat page and the API')
    .addOption(levelOption('log this level and above'))
    .action(action(({ claude, test, ...flags }) => ports.start({ ...flags, ...backendFor(claude, test) })))
  for (const [name, label] of Object.entries(chatLabels)) start.option(`--${name}`, `connect to ${label}`)
  examples(start, [
    'npx aetheel start',
    'npx aetheel start --test                # repeats what you write',
    'npx aetheel start --backend claude --model opus',
    'npx aetheel start --config-dir ~/aetheel --port 8090 --log debug',
  ])
}

function backendFor(claude: Flags[string], test: Flags[string]): Flags {
  if (claude === true) return { backend: 'claude' }
  return test === true ? { backend: 'echo' } : {}
}

function addStatus(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const status = program
    .command('status')
    .description('show the status of the running gateway, and the links to its pages (exit 0: ready)')
    .option('--json', 'the response of the gateway, as JSON')
    .action(
      action(async flags => {
        const { showStatus } = await import('./status.ts')
        return showStatus(ports, terminal, flags, flags.json === true)
      }),
    )
  examples(status, ['npx aetheel status', 'npx aetheel status --json', 'npx aetheel status --config-dir ~/aetheel'])
}

function addChat(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const command = program
    .command('chat')
    .description('ask one question, or chat interactively if no text is given')
    .argument('[text...]', 'the message; piped input is appended to it')
    .option('--conversation <id>', 'continue this conversation', conversationId, 'terminal')
    .option('--json', 'print {id, conversation, text, ok} when it is answered')
    .action(
      action(async (flags, words) => {
        const { chat } = await import('./chat/index.ts')
        const conversation = String(flags.conversation)
        return chat(ports, terminal, { text: words.join(' '), conversation, json: flags.json === true, flags })
      }),
    )
  examples(command, [
    'npx aetheel chat "what is on my list today?"',
    'git diff | npx aetheel chat "review this"',
    'npx aetheel chat --conversation work',
    'npx aetheel chat --json "one word, please"',
  ])
}

function addConfig(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const config = program
    .command('config')
    .description('show the configuration, check it, edit it, or write a first file')
  const load = () => import('./config.ts')
  const show = config
    .command('show')
    .description('every option, its value and where it comes from; secrets masked')
    .option('--json', 'as a JSON array')
    .action(action(async flags => (await load()).showConfig(ports, terminal, flags, flags.json === true)))
  const check = config
    .command('check')
    .description('report mistakes (exit 1), or that it is valid (exit 0)')
    .option('--json', 'as {ok, problems, warnings}')
    .action(action(async flags => (await load()).checkConfig(ports, terminal, flags, flags.json === true)))
  const init = config
    .command('init')
    .description('write config.json with every option at its default; an existing one is left alone')
    .option('--force', 'overwrite it; a copy of the old file is kept')
    .option('--json', 'as {path, created, copy}')
    .action(action(async flags => (await load()).initConfig(ports, terminal, flags, flags.json === true)))
  const edit = config
    .command('edit')
    .description('open config.json in your editor (VISUAL, EDITOR), then check it')
    .action(action(async flags => (await load()).editConfig(ports, terminal, flags)))
  examples(config, [
    'npx aetheel config show',
    'npx aetheel config check',
    'npx aetheel config init',
    'npx aetheel config edit',
  ])
  examples(edit, ['npx aetheel config edit', 'EDITOR="code --wait" npx aetheel config edit'])
  examples(show, ['npx aetheel config show', 'HTTP_PORT=9000 npx aetheel config show --json'])
  examples(check, ['npx aetheel config check', 'npx aetheel config check --json'])
  examples(init, [
    'npx aetheel config init',
    'npx aetheel config init --force',
    'npx aetheel config init --config-dir ~/aetheel',
  ])
}

/** The same rule as in the gateway, so that a typo is reported immediately. */
function conversationId(id: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(id)) return id
  throw new InvalidArgumentError('Allowed are 1 to 64 letters, digits, dots, dashes and underscores.')
}

/**
 * `aetheel --port 1` means `aetheel start --port 1`. Not with commander's default command: that would take a mistyped command
 * for an argument of start instead of asking "did you mean".
 */
function startByDefault(program: Command, args: readonly string[]): readonly string[] {
  const { operands, unknown } = program.parseOptions([...args])
  const [first, about] = operands
  // Commander would print the whole help without saying why.
  if (first === 'help' && about !== undefined && ![...program.commands.map(one => one.name()), first].includes(about))
    return [about]
  const helpWanted = unknown.some(word => word === '-h' || word === '--help')
  return operands.length === 0 && !helpWanted ? ['start', ...args] : args
}

/** For narrow terminals too: a long term would keep the descriptions from being wrapped. */
const helpFor = ({ stdout }: Terminal): HelpConfiguration => ({
  showGlobalOptions: true,
  minWidthToWrap: 24,
  subcommandTerm: command => command.name(),
  optionDescription({ description, argChoices, defaultValue }) {
    const choices = argChoices ? ` (${argChoices.join(', ')})` : ''
    return `${description}${choices}${typeof defaultValue === 'string' ? ` (default: ${defaultValue})` : ''}`
  },
  styleTitle: title => paintFor(stdout)('bold', title),
})

function outputTo({ stdout, stderr }: Terminal) {
  return {
    writeOut: (text: string) => void stdout.write(text),
    writeErr: (text: string) => void stderr.write(text),
    getOutHasColors: () => stdout.isTTY === true,
    getOutHelpWidth: () => Math.min(stdout.columns || 100, 110),
    getErrHelpWidth: () => Math.min(stderr.columns || 100, 110),
    outputError: (text: string, write: (text: string) => void) => write(inOurWords(text)),
  }
}

const inOurWords = (text: string): string =>
  text
    .replace(/^error: /, 'aetheel: ')
    .replace(/command-argument value '(.*?)' is invalid for argument '([^']*)'\./s, "'$1' is not a valid $2.")
