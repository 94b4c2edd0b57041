// `aetheel security audit`: prints what was found, a line each.
import { createPage } from './doctor.ts'
import type { CliPorts, Flags } from './ports.ts'
import type { Terminal } from './terminal.ts'

/** Exit code 0 if nothing failed. */
export async function showAudit(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const checks = await ports.audit(flags, flags.fix === true)
  const ok = checks.every(({ status }) => status !== 'fail')
  if (flags.json === true) terminal.stdout.write(`${JSON.stringify({ ok, checks }, null, 2)}\n`)
  else {
    const page = createPage(terminal.stdout)
    page.title('Security')
    for (const check of checks) page.row(check)
    page.sum(checks, true)
  }
  return ok ? 0 : 1
}
