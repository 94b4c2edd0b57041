// `aetheel doctor`: what was found, a line each, and what to do about it.
import { openProgress } from './chat/progress.ts'
import type { Check, CliPorts, Flags } from './ports.ts'
import { type OutputStream, type Paint, paintFor, type Terminal, widthOf, withoutControls } from './terminal.ts'

export interface DoctorOptions {
  readonly flags: Flags
  readonly live: boolean
  readonly json: boolean
  readonly version: string
}

/** Exit code 0: nothing failed; 130 after Ctrl-C. */
export async function showDoctor(
  ports: CliPorts,
  terminal: Terminal,
  { flags, live, json, version }: DoctorOptions,
): Promise<number> {
  const { stdout, stderr } = terminal
  const page = openPage(stdout)
  const stop = new AbortController()
  const deaf = terminal.onInterrupt(() => stop.abort())
  const checks: Check[] = []
  let progress = openProgress(stderr, terminal.now, () => '')
  if (!json) page.title(`Aetheel ${version}`)
  try {
    for await (const finding of ports.doctor(flags, live, stop.signal)) {
      if (finding.type === 'doing') {
        // Anew, so that the seconds are those of what is done now.
        progress.close()
        progress = openProgress(stderr, terminal.now, () => '')
        progress.show(finding.what)
        continue
      }
      checks.push(finding.check)
      progress.hide()
      if (!json) page.row(finding.check)
    }
  } finally {
    progress.close()
    deaf()
  }
  if (stop.signal.aborted) {
    stderr.write('aetheel: stopped\n')
    return 130
  }
  const ok = checks.every(({ status }) => status !== 'fail')
  if (json) stdout.write(`${JSON.stringify({ ok, checks }, null, 2)}\n`)
  else page.sum(checks, live)
  return ok ? 0 : 1
}

const marks = {
  ok: { sign: '✓', word: 'ok', style: 'green' },
  warn: { sign: '!', word: 'warn', style: 'yellow' },
  fail: { sign: '✗', word: 'fail', style: 'red' },
  off: { sign: '·', word: '-', style: 'dim' },
} as const

const nameWidth = 13

/** Signs and wrapped lines for a terminal; elsewhere words, and one line for each check and each advice. */
export function openPage(out: OutputStream) {
  const paint = paintFor(out)
  const onTerminal = out.isTTY === true
  const margin = onTerminal ? '    ' : '      '
  const indent = margin.length + nameWidth + 2
  const room = onTerminal ? Math.max(30, Math.min(out.columns || 80, 120) - indent - 1) : Number.POSITIVE_INFINITY
  const write = (lines: readonly string[]) => void out.write(lines.map(line => `${line.trimEnd()}\n`).join(''))

  return {
    title: (text: string) => write([paint('bold', text), '']),
    row({ name, status, detail, fix }: Check): void {
      const { sign, word, style } = marks[status]
      const mark = paint(style, onTerminal ? `  ${sign} ` : word.padEnd(margin.length))
      const muted = (text: string) => (status === 'off' ? paint('dim', text) : withCommands(text, paint))
      const [first = '', ...more] = wrapped(detail, room)
      const advice = wrapped(fix ?? '', room - 2).map((line, i) => (i === 0 ? `→ ${line}` : `  ${line}`))
      const label = name.padEnd(nameWidth)
      // What is not needed is said in one line where there is room for it.
      const [only] = status === 'off' && more.length === 0 && advice.length === 1 ? advice : []
      if (only !== undefined && widthOf(`${first} ${only}`) <= room)
        return write([`${mark}${paint('dim', `${label}  ${first} ${only}`)}`])
      write([
        `${mark}${paint(status === 'off' ? 'dim' : 'bold', label)}  ${muted(first)}`,
        ...[...more, ...advice].map(line => ' '.repeat(indent) + muted(line)),
      ])
    },
    sum(checks: readonly Check[], live: boolean): void {
      const failed = checks.filter(({ status }) => status === 'fail').length
      const warned = checks.filter(({ status }) => status === 'warn').length
      const beside = warned === 0 ? '' : `${failed > 0 ? ', and ' : ''}${counted(warned, 'thing')} to look at`
      if (failed > 0) return write(['', paint('red', `${counted(failed, 'thing')} must be put right${beside}.`)])
      const words = warned === 0 ? paint('green', 'All is well.') : paint('yellow', `Nothing is broken; ${beside}.`)
      const more = live ? '' : ` A real turn proves the backend: ${withCommands('`npx aetheel doctor --live`', paint)}`
      write(['', words + more])
    },
  }
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

/** Commands stand in backticks; on a coloured terminal colour says it better. */
const withCommands = (text: string, paint: Paint): string =>
  text.replace(/`([^`]+)`/g, (quoted, command: string) => {
    const coloured = paint('cyan', command)
    return coloured === command ? quoted : coloured
  })

/** Lines of at most so many cells; a command stays whole, so that it can be copied. */
function wrapped(text: string, room: number): readonly string[] {
  const words = withoutControls(text).match(/`[^`\n]*`\S*|\S+/g) ?? []
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(`${last} ${word}`) <= room) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
