// /work and /verbosity: what the agent did, and how much of it is shown unasked.
import type { LaneKey } from '../base/event.ts'
import type { CommandRow } from './command.ts'

export interface WorkParts {
  /** The work for the last answer that needed any, as Markdown; null: there is none. */
  work(lane: LaneKey): { readonly steps: number; readonly document: string } | null
  readonly verbosities: readonly string[]
  verbosity(lane: LaneKey): { readonly verbosity: string; readonly own: boolean }
  /** Null: as configured for all conversations. */
  chooseVerbosity(lane: LaneKey, how: string | null): Promise<void>
}

export const workRow = ({ work }: Pick<WorkParts, 'work'>): CommandRow => ({
  names: ['work'],
  ownerOnly: true,
  about: 'Show what the agent did for the last answer: commands with their output, changes of files, and more.',
  async answer({ lane }) {
    const found = work(lane)
    if (found === null) return 'The agent has done nothing in this conversation lately but answer.'
    const { steps, document } = found
    return {
      text: `What the agent did, in ${steps === 1 ? 'one step' : `${steps} steps`}:`,
      document: { name: 'work.md', text: document },
    }
  },
})

export const verbosityRow = (parts: WorkParts): CommandRow => ({
  names: ['verbosity'],
  takes: '[NAME | default]',
  ownerOnly: true,
  about: 'Show or choose how much of the work is shown in this conversation: quiet, normal or full.',
  async answer({ lane, rest }) {
    const known = `Available: ${parts.verbosities.join(', ')}.`
    const shown = () => {
      const { verbosity, own } = parts.verbosity(lane)
      return `${verbosity}${own ? ' (for this conversation)' : ''}`
    }
    if (rest === '') return `The verbosity of this conversation is ${shown()}. ${known}`
    if (rest !== 'default' && !parts.verbosities.includes(rest))
      return `There is no verbosity called "${rest.slice(0, 40)}". ${known}`
    await parts.chooseVerbosity(lane, rest === 'default' ? null : rest)
    return `From the next message on: ${shown()}.`
  },
})
