// `aetheel sessions`: which session each conversation goes on in, and how one is ended.
import { createInterface } from 'node:readline'
import * as v from 'valibot'
import type { SessionsDesk, SessionView } from '../../base/sessions.ts'
import { writtenTime } from '../../base/zone.ts'
import { askGateway, atTheDesk, print, refusal, table, tellResult } from './desk.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

export async function listSessions(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const sessions = await withSessions(ports, flags, desk => desk.list())
  return print(terminal, flags.json === true, sessions, () =>
    sessions.length === 0
      ? ['No conversation has a session yet.']
      : table(
          ['CONVERSATION', 'BACKEND', 'LAST USED', 'WAITING', 'SESSION'],
          sessions.map(one => rowOf(one, terminal.zone())),
          terminal.stdout,
        ),
  )
}

/** Of one conversation, of all, or of those that nobody uses any more. */
export async function clearSessions(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  conversation: string | undefined,
): Promise<number> {
  const all = flags.all === true
  if ([conversation !== undefined, all, flags.stale === true].filter(Boolean).length > 1) {
    terminal.stderr.write('aetheel: say a conversation, or --stale, or --all, and not several of them.\n')
    return 2
  }
  return withSessions(ports, flags, async desk => {
    if (all && flags.yes !== true && terminal.stdin.isTTY === true) {
      const lanes = new Set((await desk.list()).map(({ lane }) => lane)).size
      const sure =
        lanes === 0 ||
        (await confirm(terminal, `Begin ${conversations(lanes)} anew? Nothing said so far is handed on. [y/N] `))
      if (!sure) {
        terminal.stderr.write('Nothing was changed.\n')
        return 1
      }
    }
    const cleared = await desk.clear(conversation ?? (all ? 'all' : 'stale'))
    return tellResult(terminal, flags.json === true, cleared, ({ lanes }) =>
      lanes.length === 0
        ? 'There is nothing to clear.'
        : [`${conversations(lanes.length)} will begin anew:`, ...lanes.map(lane => `  ${lane}`)].join('\n'),
    )
  })
}

const conversations = (n: number) => `${n} ${n === 1 ? 'conversation' : 'conversations'}`

/** No, unless they say yes: also when they leave. */
async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  const lines = createInterface({ input: terminal.stdin, output: terminal.stderr })
  try {
    const answer = await new Promise<string>(resolve => {
      const left = () => {
        terminal.stderr.write('\n')
        resolve('')
      }
      lines.once('close', left)
      lines.question(question, answer => {
        lines.off('close', left)
        resolve(answer)
      })
    })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}

const rowOf = ({ lane, backend, session, updatedAt, unanswered }: SessionView, zone: string) => [
  ...[lane, backend, writtenTime(updatedAt, zone), unanswered === 0 ? '-' : String(unanswered), session],
]

const withSessions = <T>(ports: CliPorts, flags: Flags, use: (desk: SessionsDesk) => Promise<T>): Promise<T> =>
  atTheDesk(ports, flags, remoteSessions, ports.sessions, use)

const listSchema = v.object({
  sessions: v.array(
    v.object({
      lane: v.string(),
      backend: v.string(),
      session: v.string(),
      updatedAt: v.number(),
      unanswered: v.number(),
    }),
  ),
})
const clearedSchema = v.variant('ok', [v.object({ ok: v.literal(true), lanes: v.array(v.string()) }), refusal])

const remoteSessions = (running: Address): SessionsDesk => ({
  list: async () => (await askGateway(running, '/api/sessions', listSchema)).sessions,
  clear: which => askGateway(running, '/api/sessions', clearedSchema, { clear: which }),
})
