// `aetheel sessions`: lists and clears the sessions of conversations.

import { createInterface } from 'node:readline'
import * as v from 'valibot'
import { counted } from '../../base/counted.ts'
import type { SessionsAdmin, SessionsPage, SessionView } from '../../base/sessions.ts'
import { writtenTime } from '../../base/zone.ts'
import { askGateway, print, printResult, refusal, table, withAdmin } from './gateway-client.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

export async function listSessions(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  // A program gets all of them unless it gives a number; a person gets a few screens.
  const most = Number(flags.number ?? (flags.json === true ? Number.POSITIVE_INFINITY : shown))
  const { sessions, conversations: all, next } = await withSessions(ports, flags, admin => listUpTo(admin, most))
  return print(terminal, flags.json === true, sessions, () =>
    sessions.length === 0
      ? ['No conversation has a session yet.']
      : [
          ...table(
            ['CONVERSATION', 'BACKEND', 'LAST USED', 'WAITING', 'SESSION'],
            sessions.map(one => rowOf(one, terminal.zone())),
            terminal.stdout,
          ),
          ...(next === null
            ? []
            : [`These are the ${sessions.length} used last, of ${conversations(all)}. More: -n NUMBER.`]),
        ],
  )
}

const shown = 100
/** The page size of the API. */
const page = 1000

async function listUpTo(admin: SessionsAdmin, most: number): Promise<SessionsPage> {
  const sessions: SessionView[] = []
  for (let after: string | undefined; ; ) {
    const found = await admin.list(Math.min(page, most - sessions.length), after)
    if (!found) throw new Error('the sessions changed while they were listed; try again')
    sessions.push(...found.sessions)
    if (found.next === null || sessions.length >= most) return { ...found, sessions }
    after = found.next
  }
}

/** Of one conversation, of all, or of the stale ones. */
export async function clearSessions(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  conversation: string | undefined,
): Promise<number> {
  const all = flags.all === true
  if ([conversation !== undefined, all, flags.stale === true].filter(Boolean).length > 1) {
    terminal.stderr.write('aetheel: give a conversation, or --stale, or --all, but only one of them.\n')
    return 2
  }
  return withSessions(ports, flags, async admin => {
    if (all && flags.yes !== true && terminal.stdin.isTTY === true) {
      const lanes = (await admin.list(1))?.conversations ?? 0
      const sure =
        lanes === 0 ||
        (await confirm(terminal, `Reset ${conversations(lanes)}? Nothing said so far is passed on. [y/N] `))
      if (!sure) {
        terminal.stderr.write('Nothing was changed.\n')
        return 1
      }
    }
    const cleared = await admin.clear(conversation ?? (all ? 'all' : 'stale'))
    return printResult(terminal, flags.json === true, cleared, ({ lanes }) =>
      lanes.length === 0
        ? 'There is nothing to clear.'
        : [`${conversations(lanes.length)} will start over:`, ...lanes.map(lane => `  ${lane}`)].join('\n'),
    )
  })
}

const conversations = (n: number) => counted(n, 'conversation')

/** No, unless they type yes; also if they leave. */
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

const withSessions = <T>(ports: CliPorts, flags: Flags, use: (admin: SessionsAdmin) => Promise<T>): Promise<T> =>
  withAdmin(ports, flags, remoteSessions, ports.sessions, use)

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
  conversations: v.number(),
  next: v.nullable(v.string()),
})
const clearedSchema = v.variant('ok', [v.object({ ok: v.literal(true), lanes: v.array(v.string()) }), refusal])

const remoteSessions = (running: Address): SessionsAdmin => ({
  list: (most, after) => {
    const query = new URLSearchParams({ limit: String(most), ...(after === undefined ? {} : { after }) })
    return askGateway(running, `/api/sessions?${query}`, listSchema)
  },
  clear: which => askGateway(running, '/api/sessions', clearedSchema, { clear: which }),
})
