// The front door of the command line. The commands with their options are loaded unless it is a plain `status`, which scripts ask often.
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Runs one command line; the exit code: 0, 1 failure, 2 usage (130 after Ctrl-C). */
export async function runCli(
  args: readonly string[],
  ports: CliPorts,
  terminal: Terminal,
  version: string,
): Promise<number> {
  try {
    const asked = plainStatus(args)
    if (asked) return await (await import('./status.ts')).showStatus(ports, terminal, asked, asked.json === true)
    return await (await import('./program.ts')).runProgram(args, ports, terminal, version)
  } catch (error) {
    terminal.stderr.write(`aetheel: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

/** Null: there is more to it, or something wrong with it. */
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
