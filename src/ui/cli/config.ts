// `aetheel config`: show where each value comes from, check them, write a first file.
import type { CliPorts, ConfigReport, Flags, ShownValue } from './ports.ts'
import { aligned, cutTo, type OutputStream, paintFor, type Terminal } from './terminal.ts'

export async function showConfig(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const report = await ports.config(flags)
  sayTrouble(report, terminal)
  if (!report.ok) return 1
  if (json) terminal.stdout.write(`${JSON.stringify(report.values, null, 2)}\n`)
  else terminal.stdout.write(`${renderValues(report.values, terminal.stdout).join('\n')}\n`)
  return 0
}

export async function checkConfig(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const report = await ports.config(flags)
  if (json) {
    const problems = report.ok ? [] : report.problems
    terminal.stdout.write(`${JSON.stringify({ ok: report.ok, problems, warnings: report.warnings }, null, 2)}\n`)
  } else {
    sayTrouble(report, terminal)
    if (report.ok) terminal.stdout.write('The configuration is good.\n')
  }
  return report.ok ? 0 : 1
}

export async function initConfig(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const file = await ports.initConfig(flags)
  if (json) terminal.stdout.write(`${JSON.stringify(file)}\n`)
  else if (file.created) terminal.stdout.write(`Written: ${file.path}\nEvery option stands in it with its default.\n`)
  else terminal.stdout.write(`There is one already, left as it is: ${file.path}\n`)
  return 0
}

/** On a terminal a value has one row, and `--json` shows all of it. */
function renderValues(values: readonly ShownValue[], out: OutputStream): string[] {
  const paint = paintFor(out)
  const beside = Math.max(...values.map(({ key, from }) => key.length + from.length)) + 5
  const room = out.isTTY === true ? Math.max(12, (out.columns || 80) - beside) : Number.POSITIVE_INFINITY
  const rows = values.map(({ key, value, from }) => [key, value === null ? '-' : cutTo(value, room), from])
  const [head = '', ...lines] = aligned([['KEY', 'VALUE', 'FROM'], ...rows])
  return [paint('bold', head), ...lines.map((line, i) => (values[i]?.from === 'default' ? paint('dim', line) : line))]
}

function sayTrouble(report: ConfigReport, terminal: Terminal): void {
  const paint = paintFor(terminal.stderr)
  for (const warning of report.warnings) terminal.stderr.write(`aetheel: ${paint('yellow', 'warning')}: ${warning}\n`)
  if (!report.ok) for (const problem of report.problems) terminal.stderr.write(`aetheel: ${problem}\n`)
}
