// The entry point of the command line. Loads the commands and their options, except for a plain `status`, which scripts call often.
import { errorText } from '../../base/unknown.ts'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Runs one command line. Resolves with the exit code: 0, 1 for failure, 2 for usage (130 after Ctrl-C). */
export async function runCli(
  args: readonly string[],
  ports: CliPorts,
  terminal: Terminal,
  version: string,
): Promise<number> {
  try {
    const flags = plainStatus(args)
    if (flags) return await (await import('./status.ts')).showStatus(ports, terminal, flags, flags.json === true)
    return await (await import('./program.ts')).runProgram(args, ports, terminal, version)
  } catch (error) {
    terminal.stderr.write(`aetheel: ${errorText(error)}\n`)
    return 1
  }
}

/** Null if there are other options, or mistakes. */
function plainStatus([command, ...rest]: readonly string[]): Flags | null {
  if (command !== 'status') return null
  const flags: Record<string, string | boolean> = {}
  for (const words = [...rest]; words.length > 0; ) {
    const word = words.shift()
    const value = word === '--config-dir' ? words.shift() : undefined
    if (word === '--json') flags.json = true
    else if (value !== undefined && !value.startsWith('-')) flags.configDir = value
    else return null
  }
  return flags
}
