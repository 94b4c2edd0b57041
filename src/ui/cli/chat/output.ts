// Where a one-shot answer is written: the text to stdout, progress to stderr.
import { waysOf } from '../approvals.ts'
import { renderRequest, type ShownRequest } from '../requests.ts'
import { type OutputStream, paintFor, type Terminal, withoutControls } from '../terminal.ts'
import { growingText } from './printed-draft.ts'
import { openProgress } from './progress.ts'
import { stoppedNote, textBeforeStop, withPlainNote } from './stopped.ts'

export type End =
  | { readonly type: 'final'; readonly text: string; readonly ok: boolean }
  | { readonly type: 'refused' | 'lost'; readonly reason: string }
  | { readonly type: 'left' }

export interface Paper {
  note(what: string): void
  draft(text: string): void
  /** What must be answered before it goes on, and how. */
  asks(request: ShownRequest): void
  /** The answer to a message of an earlier run. */
  late(text: string): void
  /** Writes the result, and returns the exit code. */
  end(end: End, delivery: { readonly id: string; readonly conversation: string }): number
  close(): void
}

export function openOutput(terminal: Terminal, json: boolean): Paper {
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
  const stop = (soFar: string): number => {
    if (soFar !== '' && live) write(stdout, growing.finish(withoutControls(soFar)))
    if (soFar !== '' && !live) write(stderr, lineOf(soFar, stderr))
    return fail(`${paintFor(stderr)('yellow', stoppedNote)}\n`)
  }

  return {
    note: progress.show,
    draft(text) {
      if (live) write(stdout, growing.grow(withoutControls(text)))
    },
    asks(request) {
      const lines = [...renderRequest(request, paintFor(stderr)), waysOf(request), 'Waiting for the answer.']
      if (live && growing.openLine() !== '') write(stdout, '\n')
      write(stderr, `${lines.join('\n')}\n`)
    },
    late(text) {
      if (stderr.isTTY === true)
        write(stderr, `(the answer to an earlier message)\n${withoutControls(withPlainNote(text))}\n\n`)
    },
    end(end, delivery) {
      progress.close()
      if (end.type === 'left') {
        fail('')
        return 130
      }
      const text = end.type === 'final' ? end.text : end.reason
      const ok = end.type === 'final' && end.ok
      if (json) {
        write(stdout, `${JSON.stringify({ ...delivery, text, ok })}\n`)
        return ok ? 0 : 1
      }
      const soFar = end.type === 'final' && !ok ? textBeforeStop(text) : null
      if (soFar !== null) return stop(soFar)
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
