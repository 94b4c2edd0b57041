// Opens a file in the user's editor, and waits until it is closed.
import { spawn } from 'node:child_process'
import { isatty } from 'node:tty'
import { findProgram } from '../../run/index.ts'
import type { Edited } from '../../ui/index.ts'

/** Tried in this order if the user has not chosen an editor. */
const usual = ['sensible-editor', 'nano', 'vi']

/** The program with its arguments. */
export function chooseEditor(): readonly [string, ...string[]] | 'no-terminal' | 'no-editor' {
  const { VISUAL = '', EDITOR = '', PATH = '' } = process.env
  if (!isatty(0) || !isatty(1)) return 'no-terminal'
  const chosen = [VISUAL, EDITOR].find(text => text.trim() !== '')
  const installed = () => usual.filter(name => findProgram(name, PATH)).slice(0, 1)
  const [program, ...words] = chosen === undefined ? installed() : shellWords(chosen)
  return program === undefined ? 'no-editor' : [program, ...words]
}

export async function runEditor([program, ...words]: readonly [string, ...string[]], path: string): Promise<Edited> {
  // Ctrl-C at the terminal reaches this process too, but it is meant for the editor.
  const ignore = () => undefined
  process.on('SIGINT', ignore)
  try {
    return await new Promise<Edited>(resolve => {
      const child = spawn(program, [...words, path], { stdio: 'inherit' })
      const failed = (why: string) => resolve({ type: 'failed', editor: program, why })
      child.on('error', (error: NodeJS.ErrnoException) =>
        failed(error.code === 'ENOENT' ? 'it was not found' : `it could not be started (${error.code})`),
      )
      child.on('close', (code, signal) =>
        code === 0 ? resolve({ type: 'edited' }) : failed(`it ended with ${signal ?? code}`),
      )
    })
  } finally {
    process.off('SIGINT', ignore)
  }
}

/** Splits as a shell would, without expansions: `code --wait`, `"/opt/my editor/ed" -x`. */
export function shellWords(text: string): string[] {
  const words: string[] = []
  for (const [piece] of text.matchAll(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+|["']/gs))
    words.push(
      piece.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, (_, double?: string, single?: string, escaped?: string) =>
        double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : (single ?? escaped ?? ''),
      ),
    )
  return words
}
