// `aetheel doctor`: prints the checks, a line each, and how to fix what failed.

import type { Check } from '../../base/check.ts'
import { counted } from '../../base/counted.ts'
import { openProgress } from './chat/progress.ts'
import type { CliPorts, Flags } from './ports.ts'
import { type OutputStream, type Paint, paintFor, type Terminal, widthOf, withoutControls } from './terminal.ts'

export interface DoctorOptions {
  readonly flags: Flags
  readonly live: boolean
  readonly json: boolean
  readonly version: string
}

/** Exit code 0 if nothing failed, 130 after Ctrl-C. */
export async function showDoctor(
  ports: CliPorts,
  terminal: Terminal,
  { flags, live, json, version }: DoctorOptions,
): Promise<number> {
  const { stdout, stderr } = terminal
  const page = createPage(stdout)
  const stop = new AbortController()
  const stopListening = terminal.onInterrupt(() => stop.abort())
  const checks: Check[] = []
  let progress = openProgress(stderr, terminal.now, () => '')
  if (!json) page.title(`Aetheel ${version}`)
  try {
    for await (const finding of ports.doctor(flags, live, stop.signal)) {
      if (finding.type === 'doing') {
        // A new one, so that the seconds count from the current step.
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
    stopListening()
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

const symbols = {
  ok: { sign: '✓', word: 'ok', style: 'green' },
  warn: { sign: '!', word: 'warn', style: 'yellow' },
  fail: { sign: '✗', word: 'fail', style: 'red' },
  off: { sign: '·', word: '-', style: 'dim' },
} as const

const nameWidth = 13

/** Symbols and wrapped lines on a terminal; elsewhere words, with one line for each check and each hint. */
export function createPage(out: OutputStream) {
  const paint = paintFor(out)
  const onTerminal = out.isTTY === true
  const margin = onTerminal ? '    ' : '      '
  const indent = margin.length + nameWidth + 2
  const room = onTerminal ? Math.max(30, Math.min(out.columns || 80, 120) - indent - 1) : Number.POSITIVE_INFINITY
  const write = (lines: readonly string[]) => void out.write(lines.map(line => `${line.trimEnd()}\n`).join(''))

  return {
    title: (text: string) => write([paint('bold', text), '']),
    row({ name, status, detail, fix }: Check): void {
      const { sign, word, style } = symbols[status]
      const symbol = paint(style, onTerminal ? `  ${sign} ` : word.padEnd(margin.length))
      const muted = (text: string) => (status === 'off' ? paint('dim', text) : withCommands(text, paint))
      const [first = '', ...more] = wrapped(detail, room)
      const advice = wrapped(fix ?? '', room - 2).map((line, i) => (i === 0 ? `→ ${line}` : `  ${line}`))
      const label = name.padEnd(nameWidth)
      // An optional check is printed on one line if it fits.
      const [only] = status === 'off' && more.length === 0 && advice.length === 1 ? advice : []
      if (only !== undefined && widthOf(`${first} ${only}`) <= room)
        return write([`${symbol}${paint('dim', `${label}  ${first} ${only}`)}`])
      write([
        `${symbol}${paint(status === 'off' ? 'dim' : 'bold', label)}  ${muted(first)}`,
        ...[...more, ...advice].map(line => ' '.repeat(indent) + muted(line)),
      ])
    },
    sum(checks: readonly Check[], live: boolean): void {
      const failed = checks.filter(({ status }) => status === 'fail').length
      const warned = checks.filter(({ status }) => status === 'warn').length
      const beside = warned === 0 ? '' : `${failed > 0 ? ', and ' : ''}${counted(warned, 'warning')}`
      if (failed > 0) return write(['', paint('red', `${counted(failed, 'problem')} must be fixed${beside}.`)])
      const words = warned === 0 ? paint('green', 'Everything is fine.') : paint('yellow', `Nothing failed; ${beside}.`)
      const more = live
        ? ''
        : ` To test the backend with a real turn: ${withCommands('`npx aetheel doctor --live`', paint)}`
      write(['', words + more])
    },
  }
}

/** Commands are in backticks; on a colour terminal they are coloured instead. */
const withCommands = (text: string, paint: Paint): string =>
  text.replace(/`([^`]+)`/g, (quoted, command: string) => {
    const coloured = paint('cyan', command)
    return coloured === command ? quoted : coloured
  })

/** Lines of at most `room` cells; a command stays whole, so that it can be copied. */
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
