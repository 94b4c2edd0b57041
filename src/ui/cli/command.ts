// What every command has: something to run, and examples in its help.
import type { Command } from 'commander'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Makes commander run it with what was typed, and hands its exit code on. */
export type Action = (
  run: (flags: Flags, words: readonly string[]) => Promise<number>,
) => (...given: unknown[]) => Promise<void>

/** What the commands are made with. */
export interface Making {
  readonly program: Command
  readonly ports: CliPorts
  readonly terminal: Terminal
  readonly action: Action
}

export const examples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map(line => `  $ ${line}`).join('\n')}`)
