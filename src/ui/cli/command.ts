// What all commands share: an action, and examples in their help.
import { type Command, Option } from 'commander'
import { backendNames } from '../../base/agent.ts'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Makes commander run it with the parsed arguments, and passes on its exit code. */
export type Action = (
  run: (flags: Flags, words: readonly string[]) => Promise<number>,
) => (...given: unknown[]) => Promise<void>

/** What commands are built from. */
export interface Making {
  readonly program: Command
  readonly ports: CliPorts
  readonly terminal: Terminal
  readonly action: Action
  readonly version: string
}

export const examples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map(line => `  $ ${line}`).join('\n')}`)

export const backendOption = (about: string): Option => new Option('--backend <name>', about).choices(backendNames)

export const levelOption = (about: string): Option =>
  new Option('--log <level>', about).choices(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]
