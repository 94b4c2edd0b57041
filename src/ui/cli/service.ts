// `aetheel service`: lets systemd run the gateway, says what was done, and how to undo it.
import { setTimeout } from 'node:timers/promises'
import { renderDiff } from './diff.ts'
import { whereOf } from './gateway-client.ts'
import type { CliPorts, Flags, ServiceControl } from './ports.ts'
import { aligned, paintFor, type Terminal, withoutControls } from './terminal.ts'

export async function installService(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const unit = await ports.unit(whereOf(flags))
  const say = speaker(terminal, flags)
  if (flags.print === true) {
    terminal.stdout.write(unit.text)
    return 0
  }
  if (unit.problems.length > 0)
    throw new Error(`the configuration has mistakes, so nothing was installed:\n${unit.problems.join('\n')}`)
  if ((unit.there === 'other' || unit.there === 'foreign') && flags.force !== true) {
    const paint = paintFor(terminal.stderr)
    const lines = [
      `aetheel: ${unit.file} exists already and differs:`,
      '',
      ...renderDiff(unit.diff, paint),
      '',
      'Nothing was changed. "npx aetheel service install --force" replaces it.',
    ]
    terminal.stderr.write(`${lines.join('\n')}\n`)
    return 1
  }
  const obstacle = await whyNoSystemd(unit)
  if (obstacle !== null) {
    const next = [obstacle, printHint]
    if (flags.json === true) {
      const done = { file: unit.file, unit: 'not written', enabled: false, running: false }
      terminal.stdout.write(`${JSON.stringify({ ...done, next }, null, 2)}\n`)
    }
    for (const line of ['Nothing was written.', ...next]) say(line)
    return 1
  }
  const active = (await unit.systemctl('is-active', unit.name))?.ok === true
  const running = await ports.find(whereOf(flags))
  // A gateway started by hand: a second one could not use the workspace.
  const beside = running && !active ? running.pid : null
  const changed = unit.there !== 'same'
  if (changed) await unit.write()
  say(`${changed ? 'Written' : 'Unchanged'}: ${unit.file}`)
  const set = await setUp(unit, beside === null, changed && active)
  const answers = set.ok && beside === null && (await cameUp(ports, flags))
  if (set.ok) say(beside !== null ? 'systemd will run it.' : answers ? 'systemd runs it.' : 'systemd has started it.')
  const next = [
    ...set.next,
    ...(set.ok && beside === null && !answers ? [silentYet(unit)] : []),
    ...whatElse(unit, beside, set.ok),
  ]
  if (flags.json === true) {
    const done = { file: unit.file, unit: changed ? 'written' : 'unchanged', enabled: set.ok, running: answers }
    terminal.stdout.write(`${JSON.stringify({ ...done, next }, null, 2)}\n`)
  }
  for (const line of next) say(line)
  if (!set.ok) return 1
  say('')
  for (const line of aligned(afterwards(unit))) say(line)
  return 0
}

/** Null if this user's systemd answers. Otherwise what is wrong, and what to do instead. */
async function whyNoSystemd({ systemctl }: ServiceControl): Promise<string | null> {
  const probe = await systemctl('show-environment')
  if (probe === null) return `There is no systemd here: no systemctl on the PATH. ${instead}`
  if (probe.ok) return null
  const said = `"systemctl --user show-environment" failed: ${probe.said.replace(/\s+/g, ' ')}`
  if (/not been booted with systemd/i.test(probe.said)) return `${said}. This machine does not run systemd. ${instead}`
  return `${said}. There is no systemd session of this user here. ${noBusHelp}, and then install again.`
}

const instead =
  'Start the gateway with "npx aetheel start", or have another supervisor run that (OpenRC, runit, pm2, a container).'
const printHint = '"npx aetheel service install --print" shows the unit.'

/** Whether it answers within the time that a start takes on a slow machine. */
async function cameUp(ports: CliPorts, flags: Flags): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt++) {
    if (await ports.find(whereOf(flags))) return true
    await setTimeout(150)
  }
  return false
}

const silentYet = ({ name }: ServiceControl) =>
  `It does not answer yet. If it stays that way: journalctl --user -u ${name} -n 20`

const afterwards = ({ name }: ServiceControl) => [
  ['npx aetheel service status', 'shows its status'],
  [`journalctl --user -u ${name} -f`, 'its log'],
  ['npx aetheel service remove', 'removes it again'],
]

type Speak = (line: string) => void

/** With --json these lines are part of the data. */
const speaker =
  ({ stdout }: Terminal, flags: Flags): Speak =>
  line => {
    if (flags.json !== true) stdout.write(`${withoutControls(line)}\n`)
  }

interface SetUp {
  readonly ok: boolean
  /** What is left to do by hand. */
  readonly next: readonly string[]
}

async function setUp({ name, systemctl }: ServiceControl, now: boolean, again: boolean): Promise<SetUp> {
  const steps: string[][] = [
    ['daemon-reload'],
    ['enable', ...(now ? ['--now'] : []), name],
    // A running one still uses the old unit.
    ...(again ? [['restart', name]] : []),
  ]
  const byHand = (from: number) => steps.slice(from).map(step => `  systemctl --user ${step.join(' ')}`)
  for (const [i, step] of steps.entries()) {
    const done = await systemctl(...step)
    if (done?.ok) continue
    const said = done === null ? 'systemctl is gone' : done.said.replace(/\s+/g, ' ')
    const failed = `"systemctl --user ${step.join(' ')}" failed: ${said}`
    return { ok: false, next: [failed, 'When that is fixed, continue with:', ...byHand(i)] }
  }
  return { ok: true, next: [] }
}

const noBusHelp = 'Log in as the user itself (not by su or sudo), or run: loginctl enable-linger'

function whatElse({ name, onlyHere, lingers }: ServiceControl, beside: number | null, set: boolean): readonly string[] {
  return [
    ...(beside === null
      ? []
      : [`A gateway runs here already (process ${beside}). Stop it, then: systemctl --user start ${name}`]),
    ...(onlyHere.length === 0
      ? []
      : [`Set only in this shell, so the service does not see it: ${onlyHere.join(', ')}. Put it into .env.`]),
    ...(lingers || !set
      ? []
      : ['It stops when you log out. To keep it running, and to start it at boot: loginctl enable-linger']),
  ]
}

export async function removeService(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const unit = await ports.unit(whereOf(flags))
  const say = speaker(terminal, flags)
  const tell = (removed: boolean, next: readonly string[]) => {
    if (flags.json === true) terminal.stdout.write(`${JSON.stringify({ file: unit.file, removed, next }, null, 2)}\n`)
    say(removed ? `Removed: ${unit.file}` : `There is nothing to remove: no ${unit.file}`)
    for (const line of next) say(line)
  }
  if (unit.there === 'no') {
    tell(false, [])
    return 0
  }
  if (unit.there === 'foreign' && flags.force !== true)
    throw new Error(
      `${unit.file} was not made by this program. "npx aetheel service remove --force" deletes it anyway.`,
    )
  const disabled = await unit.systemctl('disable', '--now', unit.name)
  await unit.delete()
  await unit.systemctl('daemon-reload')
  if (disabled === null) tell(true, ['There is no systemctl on the PATH, so if it runs, it still does.'])
  else if (disabled.ok) tell(true, [])
  else tell(true, [`It could not be stopped: ${disabled.said.replace(/\s+/g, ' ')}`])
  return disabled?.ok === false ? 1 : 0
}

export async function showService(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const unit = await ports.unit(whereOf(flags))
  const { file, there } = unit
  const word = async (question: string) => (there === 'no' ? null : await unit.systemctl(question, unit.name))
  const enabled = await word('is-enabled')
  const active = await word('is-active')
  const runs = active?.ok === true
  if (flags.json === true) {
    const shown = { file, unit: there, enabled: enabled?.ok === true, active: runs }
    terminal.stdout.write(`${JSON.stringify(shown, null, 2)}\n`)
    return runs ? 0 : 1
  }
  const paint = paintFor(terminal.stdout)
  const rows = [
    ['  unit', units[there](file)],
    ...(there === 'no'
      ? []
      : [
          ['  enabled', enabled === null ? 'no systemctl on the PATH' : withoutControls(enabled.said)],
          ['  active', active === null ? 'no systemctl on the PATH' : withoutControls(active.said)],
        ]),
  ]
  const headline = runs ? paint('green', 'systemd runs Aetheel') : paint('yellow', 'systemd does not run Aetheel')
  terminal.stdout.write(`${[headline, ...aligned(rows)].join('\n')}\n`)
  return runs ? 0 : 1
}

const units: Readonly<Record<ServiceControl['there'], (file: string) => string>> = {
  no: () => 'none; "npx aetheel service install" writes one',
  same: file => file,
  other: file =>
    `${file}, which differs from what would be written now; "npx aetheel service install" shows the difference`,
  foreign: file => `${file}, which was not made by this program`,
}
