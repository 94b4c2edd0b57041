// `aetheel logins`: which browsers are logged in, and how to log them out. Uses the running gateway, or the database if none is running.
import * as v from 'valibot'
import { counted } from '../../base/counted.ts'
import type { LoginsAdmin } from '../../base/logins.ts'
import { writtenTime } from '../../base/zone.ts'
import { askGateway, print, printResult, table, withAdmin } from './gateway-client.ts'
import type { Address, CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

export async function listLogins(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const logins = await withLogins(ports, flags, admin => admin.list())
  const rows = () =>
    logins.map(({ id, name, at, usedAt }) => [
      ...[id, name, writtenTime(at, terminal.zone()), writtenTime(usedAt, terminal.zone())],
    ])
  return print(terminal, flags.json === true, logins, () =>
    logins.length === 0
      ? ['No browser is logged in.']
      : table(['ID', 'BROWSER', 'SINCE', 'LAST USED'], rows(), terminal.stdout),
  )
}

export async function revokeLogin(ports: CliPorts, terminal: Terminal, flags: Flags, which: string): Promise<number> {
  const ended = await withLogins(ports, flags, admin => admin.revoke(which))
  const result =
    ended === 0 && which !== 'all'
      ? ({ ok: false, why: `there is no login ${which}; "aetheel logins list" shows them.` } as const)
      : ({ ok: true, ended } as const)
  return printResult(terminal, flags.json === true, result, () => `Logged out: ${counted(ended, 'browser')}.`)
}

const withLogins = <T>(ports: CliPorts, flags: Flags, use: (admin: LoginsAdmin) => Promise<T>): Promise<T> =>
  withAdmin(ports, flags, remoteLogins, ports.logins, use)

const listSchema = v.object({
  logins: v.array(v.object({ id: v.string(), name: v.string(), at: v.number(), usedAt: v.number() })),
})
const revoked = v.union([
  v.object({ ok: v.literal(true), ended: v.number() }),
  // An unknown id is not an error of the connection.
  v.object({ error: v.literal('There is no such login.') }),
])

const remoteLogins = (running: Address): LoginsAdmin => ({
  list: async () => (await askGateway(running, '/api/logins', listSchema)).logins,
  async revoke(which) {
    const answer = await askGateway(running, '/api/logins', revoked, { revoke: which })
    return 'ended' in answer ? answer.ended : 0
  },
})
