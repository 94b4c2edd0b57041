// Where a one-shot answer is written: the text on stdout, what goes on meanwhile on stderr.
import { type OutputStream, paintFor, type Terminal, withoutControls } from '../terminal.ts'
import { growingText } from './growing.ts'
import { openProgress } from './progress.ts'
import { saidUntilStopped, stoppedNote, withPlainNote } from './stopped.ts'

export type End =
  | { readonly type: 'final'; readonly text: string; readonly ok: boolean }
  | { readonly type: 'refused' | 'lost'; readonly reason: string }
  | { readonly type: 'left' }

export interface Paper {
  note(what: string): void
  draft(text: string): void
  /** The answer to a message of an earlier visit. */
  late(text: string): void
  /** Writes how it ended; the exit code. */
  end(end: End, letter: { readonly id: string; readonly conversation: string }): number
  close(): void
}

export function openPaper(terminal: Terminal, json: boolean): Paper {
  const { stdout, stderr } = terminal
  const live = stdout.isTTY === true && !json
  const growing = growingText()
  const progress = openProgress(stderr, terminal.now, growing.openLine)

  const write = (stream: OutputStream, text: string): void => {
    if (text === '') return
    progress.hide()
    stream.write(text)
  }
  const fail = (text: string): number => {
    write(stdout, growing.openLine() === '' ? '' : '\n')
    write(stderr, text)
    return 1
  }
  const stop = (said: string): number => {
    if (said !== '' && live) write(stdout, growing.finish(withoutControls(said)))
    if (said !== '' && !live) write(stderr, lineOf(said, stderr))
    return fail(`${paintFor(stderr)('yellow', stoppedNote)}\n`)
  }

  return {
    note: progress.show,
    draft(text) {
      if (live) write(stdout, growing.grow(withoutControls(text)))
    },
    late(text) {
      if (stderr.isTTY === true)
        write(stderr, `(the answer to an earlier message)\n${withoutControls(withPlainNote(text))}\n\n`)
    },
    end(end, letter) {
      progress.close()
      if (end.type === 'left') {
        fail('')
        return 130
      }
      const text = end.type === 'final' ? end.text : end.reason
      const ok = end.type === 'final' && end.ok
      if (json) {
        write(stdout, `${JSON.stringify({ ...letter, text, ok })}\n`)
        return ok ? 0 : 1
      }
      const said = end.type === 'final' && !ok ? saidUntilStopped(text) : null
      if (said !== null) return stop(said)
      if (!ok) return fail(end.type === 'final' ? lineOf(text, stderr) : `aetheel: ${end.type}: ${text}\n`)
      write(stdout, live ? growing.finish(withoutControls(text)) : lineOf(text, stdout))
      return 0
    },
    close: progress.close,
  }
}

function lineOf(text: string, stream: OutputStream): string {
  const shown = stream.isTTY === true ? withoutControls(text) : text
  return shown.endsWith('\n') ? shown : `${shown}\n`
}
