// `aetheel init`: a workspace to begin with.
import { whereOf } from './desk.ts'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

export async function initWorkspace(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  if (flags.example !== true) {
    terminal.stderr.write(
      'aetheel: say what to begin with. "npx aetheel init --example" writes an example workspace, "npx aetheel config init" a config.json.\n',
    )
    return 2
  }
  const { dir, written, kept } = await ports.initExample(whereOf(flags))
  if (flags.json === true) {
    terminal.stdout.write(`${JSON.stringify({ dir, written, kept }, null, 2)}\n`)
    return 0
  }
  const files = (names: readonly string[]) => names.map(name => `  ${name}`)
  const lines = [
    ...(written.length === 0 ? [`Nothing was written to ${dir}: all of it is there.`] : [`Written to ${dir}:`]),
    ...files(written),
    ...(kept.length === 0 ? [] : ['Left as they were:', ...files(kept)]),
    '',
    'Next:',
    '  npx aetheel start       runs it',
    '  npx aetheel cron list   shows what it will do, and when',
    'All of it is markdown: edit it while the gateway runs.',
  ]
  terminal.stdout.write(`${lines.join('\n')}\n`)
  return 0
}
