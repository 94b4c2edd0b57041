// Recorded output of the real CLIs, in test/recordings/<cli>/<version>/<case>.jsonl: first a description of the run and its end, then
// the lines of its output. Made by `npm run record`.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Turn } from '../../src/base/agent.ts'

/** In the order of recording. `forgotten`: resumes a session although there are none at all; `lost`: although there are only others. */
export const cases = [
  'forgotten',
  'success',
  'resume',
  'tool',
  'tool-failed',
  '401',
  '429',
  '500',
  'lost',
  'killed',
] as const
export type Case = (typeof cases)[number]

export interface Run {
  readonly cli: string
  readonly version: string
  readonly case: Case
  readonly prompt: string
  readonly session: Turn['session']
  readonly arguments: readonly string[]
  /** Why the recording is incomplete; null: it is complete. */
  readonly cut: string | null
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last part of it. */
  readonly stderr: string
}

export interface Recording {
  readonly file: string
  readonly run: Run
  readonly lines: readonly string[]
}

export const recordingsDir = join(import.meta.dirname, '../recordings')

/** The fake model's answer, and its text before a tool call. */
export const answer = 'Hello from the model, several words long.'
export const beforeTool = 'Let me look into the notes.'

/** The usage that each of its answers reports. */
export const used = { input: 120, output: 11 }

export const recordingText = (run: Run, lines: readonly string[]): string =>
  `${[JSON.stringify(run), ...lines].join('\n')}\n`

export function readRecordings(cli: string): readonly Recording[] {
  const dir = join(recordingsDir, cli)
  const versions = existsSync(dir) ? readdirSync(dir).sort() : []
  return versions.flatMap(version =>
    readdirSync(join(dir, version))
      .sort()
      .map(name => readRecording(join(dir, version, name))),
  )
}

function readRecording(file: string): Recording {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  return { file, run: JSON.parse(head), lines }
}
