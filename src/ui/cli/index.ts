// The front door of the command line.
export type { CliPorts, ConfigReport, Embedded, Flags, Running } from './ports.ts'
export { runCli } from './program.ts'
