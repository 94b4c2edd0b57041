// ask_user: the agent asks the owner something and waits for the answer for a while.

import { agentOf } from '../base/event.ts'
import type { Question, Verdict } from '../base/tool-use.ts'
import type { Caller, Tool } from '../base/tools.ts'
import { done, refused, tool } from './tool.ts'

/** Null: there is no answer yet; it arrives as a message later. */
export type AskUser = (question: Question, caller: Caller, ms: number, signal: AbortSignal) => Promise<Verdict | null>

/** CLIs give up on a tool after a while. */
const waitMs = 50_000
const mostOptions = 8

export const askTools = (ask: AskUser): readonly Tool[] => [
  tool({
    name: 'ask_user',
    about: 'Asks the user something.',
    takes: {
      question: { type: 'string', about: '', required: true },
      options: { type: 'strings', about: 'choices' },
    },
    ownerOnly: true,
    async call({ question, options = [] }, caller, signal) {
      if (agentOf(caller.lane) !== null || caller.place === null)
        return refused('Nobody reads along here. Put the question into your answer instead. Nothing was asked.')
      if (options.length > mostOptions) return refused(`At most ${mostOptions} options, please. Nothing was asked.`)
      const asked: Question = {
        ...{ question, header: '', multiple: false },
        options: [...new Set(options)].map(label => ({ label, description: '' })),
      }
      const verdict = await ask(asked, caller, waitMs, signal)
      if (verdict === null)
        return done('There is no answer yet. End your turn now; the answer will arrive as the next message.')
      return verdict.allow ? done(`The answer: ${verdict.answers?.[question] ?? ''}`) : done(verdict.message)
    },
  }),
]
