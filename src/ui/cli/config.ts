// `aetheel config`: show where each value comes from, check them, write a first file, edit it.
import { whereOf } from './desk.ts'
import type { CliPorts, ConfigReport, Edited, Flags, ShownValue } from './ports.ts'
import { aligned, cutTo, type OutputStream, paintFor, type Terminal, withoutControls } from './terminal.ts'

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
  const file = await ports.initConfig(flags, flags.force === true)
  const { path, created, copy } = file
  const lines = created
    ? [
        `Written: ${path}`,
        ...(copy === null ? [] : [`What was there is kept in: ${copy}`]),
        'Every option stands in it with its default.',
      ]
    : [
        `There is one already, left as it is: ${path}`,
        'With --force it is written anew, and the old one kept beside it.',
      ]
  terminal.stdout.write(json ? `${JSON.stringify(file)}\n` : `${lines.join('\n')}\n`)
  return 0
}

/** The exit code says whether the configuration is good afterwards. */
export async function editConfig(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const { path, created, edited } = await ports.editConfig(flags)
  if (edited.type !== 'edited') {
    terminal.stderr.write(`aetheel: ${notEdited(edited, path)}\n`)
    return 1
  }
  const report = await ports.config(flags)
  sayTrouble(report, terminal)
  if (!report.ok) {
    terminal.stderr.write(
      `${path} is as you left it. Until it is mended no gateway starts, and a running one goes on with the last good one. "npx aetheel config edit" opens it again.\n`,
    )
    return 1
  }
  const running = await ports.find(whereOf(flags))
  const next = running === null ? 'It counts from the next start on.' : 'The running gateway reads it by itself.'
  terminal.stdout.write(`${created ? `Written: ${path}\n` : ''}The configuration is good. ${next}\n`)
  return 0
}

function notEdited(edited: Exclude<Edited, { type: 'edited' }>, path: string): string {
  switch (edited.type) {
    case 'no-terminal':
      return `there is no terminal for an editor here. Edit ${path} with any other program.`
    case 'no-editor':
      return `no editor was found. Name yours, such as EDITOR="code --wait", or edit ${path} with any other program.`
    case 'failed':
      return `the editor ${edited.editor} did not do its work: ${edited.why}. VISUAL or EDITOR names another one.`
    default:
      return edited satisfies never
  }
}

/** On a terminal a value has one row, and `--json` shows all of it. */
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

function sayTrouble(report: ConfigReport, terminal: Terminal): void {
  const paint = paintFor(terminal.stderr)
  for (const warning of report.warnings) terminal.stderr.write(`aetheel: ${paint('yellow', 'warning')}: ${warning}\n`)
  if (!report.ok) for (const problem of report.problems) terminal.stderr.write(`aetheel: ${problem}\n`)
}
