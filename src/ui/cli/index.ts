// The front door of the command line.
export { runCli } from './program.ts'
