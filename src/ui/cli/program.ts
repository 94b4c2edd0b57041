// The commands and their options. Each command's code is loaded when it is called.
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { resolveBackendName } from '../../base/agent.ts'
import { type Action, examples, type Making } from './command.ts'
import { addCron, addLogs, addMemory, addSessions } from './desk-commands.ts'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Runs one command line; the exit code: 0, 1 failure, 2 usage (130 after Ctrl-C). */
export async function runCli(
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
    terminal.stderr.write(`aetheel: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

/** `ended` is told the exit code of the command that ran. */
function buildProgram(ports: CliPorts, terminal: Terminal, version: string, ended: (code: number) => void): Command {
  const program = new Command('aetheel')
    .description('A gateway on your own machine between people and the coding agent you already have.')
    .usage('[command] [options]')
    .option('--config-dir <folder>', 'the workspace (default: CONFIG_DIR or ./config)')
    .version(version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput(outputTo(terminal))
    .exitOverride()
  examples(program, [
    'npx aetheel',
    'npx aetheel start --backend claude --port 8090',
    'npx aetheel chat "what is new?"',
  ])

  const action: Action =
    run =>
    async (...given) => {
      const command = given.at(-1)
      if (!(command instanceof Command)) throw new TypeError('commander hands the command over last')
      ended(await run(command.optsWithGlobals<Flags>(), command.args))
    }
  addStart(program, ports, action)
  addStatus(program, ports, terminal, action)
  addChat(program, ports, terminal, action)
  addPair(program, ports, terminal, action)
  const making: Making = { program, ports, terminal, action }
  addCron(making)
  addSessions(making)
  addMemory(making)
  addLogs(making)
  addDoctor(program, ports, terminal, version, action)
  addConfig(program, ports, terminal, action)
  addInit(making)
  return program
}

function addStart(program: Command, ports: CliPorts, action: Action): void {
  const start = program
    .command('start')
    .description('run the gateway until Ctrl-C (the default command)')
    .option(
      '--backend <name>',
      'who answers: claude, codex, gemini, opencode, pi, claude-sdk, or echo, which repeats what you write',
    )
    .option('--model <name>', 'the model the backend is to use')
    .option('--discord', 'connect to Discord')
    .option('--port <number>', 'where the chat page and the API are served')
    .option('--log <level>', 'trace, debug, info, warn, error, fatal or silent')
    .action(action(flags => ports.start(flags)))
  examples(start, [
    'npx aetheel start',
    'npx aetheel start --backend claude --model opus',
    'npx aetheel start --config-dir ~/aetheel --port 8090 --log debug',
  ])
}

function addStatus(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const status = program
    .command('status')
    .description('how the running gateway does, and the link to its chat page (exit 0: ready)')
    .option('--json', 'as JSON, as the gateway gave it')
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
    .description('ask once, or without a text talk at the terminal')
    .argument('[text...]', 'what to say; piped input is added to it')
    .option('--conversation <id>', 'go on with this conversation', conversationId, 'terminal')
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

function addPair(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const pair = program.command('pair').description('who may speak: see who asks, let them in or turn them away')
  const load = () => import('./pair.ts')
  const list = pair
    .command('list')
    .description('who asks to be let in, with their codes, and whom you have decided about')
    .option('--json', 'as {requests, people}')
    .action(action(async flags => (await load()).listPairing(ports, terminal, flags, flags.json === true)))
  const approve = pair
    .command('approve')
    .description('let somebody in by the code that they were shown')
    .argument('<code>', 'the code; or chat:user, as the list shows it, of somebody you decided about before')
    .option('--owner', 'as an owner, who may do everything')
    .action(
      action(async (flags, [code = '']) =>
        (await load()).approvePairing(ports, terminal, flags, code, flags.owner === true),
      ),
    )
  const deny = pair
    .command('deny')
    .description('turn somebody away, also one who was let in before; they get no answer any more')
    .argument('<code-or-user>', 'the code, or chat:user as the list shows it')
    .action(action(async (flags, [whom = '']) => (await load()).denyPairing(ports, terminal, flags, whom)))
  examples(pair, ['npx aetheel pair list', 'npx aetheel pair approve K7QM-4XWD', 'npx aetheel pair deny discord:1234'])
  examples(list, ['npx aetheel pair list', 'npx aetheel pair list --json'])
  examples(approve, [
    'npx aetheel pair approve K7QM-4XWD --owner',
    'npx aetheel pair approve k7qm4xwd',
    'npx aetheel pair approve discord:1234 --owner',
  ])
  examples(deny, ['npx aetheel pair deny K7QM-4XWD', 'npx aetheel pair deny discord:1234'])
}

function addDoctor(program: Command, ports: CliPorts, terminal: Terminal, version: string, action: Action): void {
  const doctor = program
    .command('doctor')
    .description('look at all that is needed, and say what to do about what is missing (exit 1)')
    .option('--live', 'ask the backend for a real answer as well')
    .option('--backend <name>', 'as if this one were chosen', knownBackend)
    .option('--json', 'as {ok, checks: [{name, status, detail, fix}]}')
    .action(
      action(async flags => {
        const { showDoctor } = await import('./doctor.ts')
        return showDoctor(ports, terminal, { flags, live: flags.live === true, json: flags.json === true, version })
      }),
    )
  examples(doctor, [
    'npx aetheel doctor',
    'npx aetheel doctor --live',
    'npx aetheel doctor --backend codex --live',
    'npx aetheel doctor --json',
  ])
}

function addConfig(program: Command, ports: CliPorts, terminal: Terminal, action: Action): void {
  const config = program
    .command('config')
    .description('look at the configuration, check it, edit it, write a first file')
  const load = () => import('./config.ts')
  const show = config
    .command('show')
    .description('every option, its value and where it comes from; secrets masked')
    .option('--json', 'as a JSON array')
    .action(action(async flags => (await load()).showConfig(ports, terminal, flags, flags.json === true)))
  const check = config
    .command('check')
    .description('say what is wrong with it (exit 1) or that it is good (exit 0)')
    .option('--json', 'as {ok, problems, warnings}')
    .action(action(async flags => (await load()).checkConfig(ports, terminal, flags, flags.json === true)))
  const init = config
    .command('init')
    .description('write config.json with every option at its default; an existing one is left alone')
    .option('--force', 'write it anew all the same; the old one is kept beside it')
    .option('--json', 'as {path, created, copy}')
    .action(action(async flags => (await load()).initConfig(ports, terminal, flags, flags.json === true)))
  const edit = config
    .command('edit')
    .description('open config.json in your editor (VISUAL, EDITOR), then say what is wrong with it')
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

function addInit({ program, ports, terminal, action }: Making): void {
  const init = program
    .command('init')
    .description('write a workspace to begin with; what is there already is left alone')
    .option('--example', 'one that shows a morning briefing, a heartbeat, a webhook and a sub-agent')
    .option('--json', 'as {dir, written, kept}')
    .action(action(async flags => (await import('./init.ts')).initWorkspace(ports, terminal, flags)))
  examples(init, ['npx aetheel init --example', 'npx aetheel init --example --config-dir ~/aetheel'])
}

/** The same rule as at the gateway's door, so that a slip of the hand is told at once. */
function conversationId(id: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(id)) return id
  throw new InvalidArgumentError('Allowed are 1 to 64 letters, digits, dots, dashes and underscores.')
}

function knownBackend(name: string): string {
  try {
    return resolveBackendName(name)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * `aetheel --port 1` is `aetheel start --port 1`. Not by commander's default command: that would take a mistyped command
 * for an argument of start instead of asking "did you mean".
 */
function startByDefault(program: Command, args: readonly string[]): readonly string[] {
  const { operands, unknown } = program.parseOptions([...args])
  const helpWanted = unknown.some(word => word === '-h' || word === '--help')
  return operands.length === 0 && !helpWanted ? ['start', ...args] : args
}

function outputTo({ stdout, stderr }: Terminal) {
  return {
    writeOut: (text: string) => void stdout.write(text),
    writeErr: (text: string) => void stderr.write(text),
    getOutHelpWidth: () => Math.min(stdout.columns ?? 100, 110),
    getErrHelpWidth: () => Math.min(stderr.columns ?? 100, 110),
    outputError: (text: string, write: (text: string) => void) => write(text.replace(/^error: /, 'aetheel: ')),
  }
}
