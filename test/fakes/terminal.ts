// A terminal for tests: remembers what was written and lets the test press keys.
import { PassThrough } from 'node:stream'
import type { OutputStream, Terminal } from '../../src/ui/cli/terminal.ts'

export interface FakeTerminal extends Terminal {
  readonly stdin: PassThrough & { isTTY?: boolean }
  out(): string
  err(): string
  ctrlC(): void
}

export function fakeTerminal(kind: { stdin?: boolean; stdout?: boolean; stderr?: boolean } = {}): FakeTerminal {
  const stdin = Object.assign(new PassThrough(), { isTTY: kind.stdin ?? false })
  const stdout = output(kind.stdout ?? false)
  const stderr = output(kind.stderr ?? false)
  const listeners = new Set<() => void>()
  return {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    out: stdout.text,
    err: stderr.text,
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    ctrlC() {
      for (const listener of [...listeners]) listener()
    },
    now: () => performance.now(),
    zone: () => 'Europe/Berlin',
  }
}

function output(isTTY: boolean): { readonly stream: OutputStream; text(): string } {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY, columns: 80, hasColors: () => false })
  let text = ''
  stream.on('data', (chunk: string) => {
    text += chunk
  })
  return { stream, text: () => text }
}
