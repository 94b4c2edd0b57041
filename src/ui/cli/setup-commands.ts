// The commands for setup and maintenance: init, doctor, service, completion.
import { Argument } from 'commander'
import { chatLabels } from '../../base/remote-chats.ts'
import { backendOption, examples, type Making, shells } from './command.ts'

export function addInit({ program, ports, terminal, action, version }: Making): void {
  const init = program
    .command('init')
    .description(
      'set it up: asks about the backend, the chats and the owner, writes the configuration, and tests it with a turn',
    )
    .addOption(backendOption('the backend that answers (default: the first one found)'))
    .option(
      '--connect <chats>',
      `the chats to connect, separated by commas: ${Object.keys(chatLabels).join(', ')}; their tokens are taken from the environment and saved in .env`,
    )
    .option('--discord-token-env <name>', 'the variable that holds the Discord bot token, if it has another name')
    .option('--owner <chat:id>', 'the user id of the owner, such as discord:123456789012345678, or: later')
    .option('--name <name>', 'what the agent is called')
    .option('--yes', 'ask nothing: use these options, and what is found for the rest')
    .option('--no-turn', 'do not ask the agent for a first answer')
    .option('--example', 'only write an example workspace: a briefing, a heartbeat, a webhook, a sub-agent')
    .option('--json', 'as {dir, backend, owner, chats, files, warnings, live}; with --example {dir, written, kept}')
    .action(
      action(async flags => {
        const { initExample, initWorkspace } = await import('./init.ts')
        return flags.example === true
          ? initExample(ports, terminal, flags)
          : initWorkspace(ports, terminal, flags, version)
      }),
    )
  examples(init, [
    'npx aetheel init',
    'npx aetheel init --yes --backend claude --owner discord:123456789012345678 --connect discord',
    'npx aetheel init --example --config-dir ~/aetheel',
  ])
}

export function addSecurity({ program, ports, terminal, action }: Making): void {
  const security = program.command('security').description('check who may do what, and what others could read')
  const audit = security
    .command('audit')
    .description('who may speak, what each of them can do, what listens, and which files are open to others')
    .option('--fix', 'close files that other users can read or change')
    .option('--json', 'as {ok, checks}')
    .action(action(async flags => (await import('./security.ts')).showAudit(ports, terminal, flags)))
  examples(security, ['npx aetheel security audit'])
  examples(audit, [
    'npx aetheel security audit',
    'npx aetheel security audit --fix',
    'npx aetheel security audit --json',
  ])
}

export function addDoctor({ program, ports, terminal, action, version }: Making): void {
  const doctor = program
    .command('doctor')
    .description('check everything that is needed, and say how to fix what is missing')
    .option('--live', 'ask the backend for a real answer as well')
    .addOption(backendOption('check as if this backend were chosen'))
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

export function addService({ program, ports, terminal, action }: Making): void {
  const service = program.command('service').description('run the gateway under systemd, from login or boot on')
  const load = () => import('./service.ts')
  const install = service
    .command('install')
    .description('write a systemd user unit for this workspace, enable and start it; says how to undo it')
    .option('--print', 'print the unit and do nothing')
    .option('--force', 'replace a unit with other content')
    .option('--json', 'as {file, unit, enabled, running, next}')
    .action(action(async flags => (await load()).installService(ports, terminal, flags)))
  const remove = service
    .command('remove')
    .description('stop and disable it, and delete the unit')
    .option('--force', 'even if it was not made by this program')
    .option('--json', 'as {file, removed, next}')
    .action(action(async flags => (await load()).removeService(ports, terminal, flags)))
  const status = service
    .command('status')
    .description('whether there is a unit, and whether systemd runs it (exit 0: it runs)')
    .option('--json', 'as {file, unit, enabled, active}')
    .action(action(async flags => (await load()).showService(ports, terminal, flags)))
  examples(service, ['npx aetheel service install', 'npx aetheel service status', 'npx aetheel service remove'])
  examples(install, [
    'npx aetheel service install',
    'npx aetheel service install --config-dir ~/aetheel',
    'npx aetheel service install --print',
  ])
  examples(remove, ['npx aetheel service remove'])
  examples(status, ['npx aetheel service status', 'npx aetheel service status --json'])
}

export function addCompletion({ program, terminal, action }: Making): void {
  const completion = program
    .command('completion')
    .description('print a script that completes commands and options when TAB is pressed')
    .addArgument(new Argument('<shell>', 'the shell it is for').choices(shells))
    .action(
      action(async (_flags, [name]) => {
        const { completionScript } = await import('./completion.ts')
        const shell = shells.find(one => one === name) ?? 'bash'
        terminal.stdout.write(completionScript(shell, program))
        return 0
      }),
    )
  examples(completion, [
    'eval "$(aetheel completion bash)"     # npx aetheel completion bash, where aetheel is not on the PATH yet',
    'aetheel completion fish > ~/.config/fish/completions/aetheel.fish',
  ])
}
