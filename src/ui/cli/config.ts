// `aetheel config`: shows where each value comes from, checks them, writes a first file, edits it.
import { whereOf } from './gateway-client.ts'
import type { CliPorts, ConfigReport, Edited, Flags, ShownValue } from './ports.ts'
import { aligned, cutTo, type OutputStream, paintFor, type Terminal, withoutControls } from './terminal.ts'

export async function showConfig(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const report = await ports.config(flags)
  printProblems(report, terminal)
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
    printProblems(report, terminal)
    if (report.ok) terminal.stdout.write('The configuration is valid.\n')
  }
  return report.ok ? 0 : 1
}

export async function initConfig(ports: CliPorts, terminal: Terminal, flags: Flags, json: boolean): Promise<number> {
  const file = await ports.initConfig(flags, flags.force === true)
  const { path, created, copy } = file
  const lines = created
    ? [
        `Written: ${path}`,
        ...(copy === null ? [] : [`The old file is kept as: ${copy}`]),
        'It lists every option with its default.',
      ]
    : [`It exists already and was not changed: ${path}`, '--force overwrites it, and keeps a copy of the old file.']
  terminal.stdout.write(json ? `${JSON.stringify(file)}\n` : `${lines.join('\n')}\n`)
  return 0
}

/** The exit code says whether the configuration is valid afterwards. */
export async function editConfig(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const { path, created, edited } = await ports.editConfig(flags)
  if (edited.type !== 'edited') {
    terminal.stderr.write(`aetheel: ${notEdited(edited, path)}\n`)
    return 1
  }
  const report = await ports.config(flags)
  printProblems(report, terminal)
  if (!report.ok) {
    terminal.stderr.write(
      `${path} is saved as you left it. Until it is fixed, no gateway starts, and a running one still uses the last valid one. "npx aetheel config edit" opens it again.\n`,
    )
    return 1
  }
  const running = await ports.find(whereOf(flags))
  const next =
    running === null ? 'It takes effect with the next start.' : 'The running gateway reloads it automatically.'
  terminal.stdout.write(`${created ? `Written: ${path}\n` : ''}The configuration is valid. ${next}\n`)
  return 0
}

function notEdited(edited: Exclude<Edited, { type: 'edited' }>, path: string): string {
  switch (edited.type) {
    case 'no-terminal':
      return `there is no terminal for an editor here. Edit ${path} with any other program.`
    case 'no-editor':
      return `no editor was found. Name yours, such as EDITOR="code --wait", or edit ${path} with any other program.`
    case 'failed':
      return `the editor ${edited.editor} failed: ${edited.why}. Set VISUAL or EDITOR to use another one.`
    default:
      return edited satisfies never
  }
}

/** On a terminal each value gets one row; `--json` shows the whole value. */
function renderValues(values: readonly ShownValue[], out: OutputStream): string[] {
  const paint = paintFor(out)
  const beside = Math.max(...values.map(({ key, from }) => key.length + from.length)) + 5
  const room = out.isTTY === true ? Math.max(12, (out.columns || 80) - beside) : Number.POSITIVE_INFINITY
  const rows = values.map(({ key, value, from }) => [
    key,
    value === null || value === '' ? '-' : cutTo(withoutControls(value), room),
    from,
  ])
  const [head = '', ...lines] = aligned([['KEY', 'VALUE', 'FROM'], ...rows])
  return [paint('bold', head), ...lines.map((line, i) => (values[i]?.from === 'default' ? paint('dim', line) : line))]
}

function printProblems(report: ConfigReport, terminal: Terminal): void {
  const paint = paintFor(terminal.stderr)
  for (const warning of report.warnings) terminal.stderr.write(`aetheel: ${paint('yellow', 'warning')}: ${warning}\n`)
  if (!report.ok) for (const problem of report.problems) terminal.stderr.write(`aetheel: ${problem}\n`)
}
