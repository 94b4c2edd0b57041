// `aetheel service`: lets systemd run the gateway, says what was done, and how to undo it.
import { setTimeout } from 'node:timers/promises'
import { whereOf } from './desk.ts'
import { renderDiff } from './diff.ts'
import type { CliPorts, Flags, UnitDesk } from './ports.ts'
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
      `aetheel: ${unit.file} is there already and says something else:`,
      '',
      ...renderDiff(unit.diff, paint),
      '',
      'Nothing was changed. "npx aetheel service install --force" replaces it.',
    ]
    terminal.stderr.write(`${lines.join('\n')}\n`)
    return 1
  }
  const active = (await unit.systemctl('is-active', unit.name))?.ok === true
  const running = await ports.find(whereOf(flags))
  // One that somebody started by hand: a second one would not get the workspace.
  const beside = running && !active ? running.pid : null
  const changed = unit.there !== 'same'
  if (changed) await unit.write()
  say(`${changed ? 'Written' : 'There already'}: ${unit.file}`)
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

/** Whether it answers, within the time that a start takes on a slow machine. */
async function cameUp(ports: CliPorts, flags: Flags): Promise<boolean> {
  for (let attempt = 0; attempt < 10; attempt++) {
    if (await ports.find(whereOf(flags))) return true
    await setTimeout(150)
  }
  return false
}

const silentYet = ({ name }: UnitDesk) => `It does not answer yet; if it stays so: journalctl --user -u ${name} -n 20`

const afterwards = ({ name }: UnitDesk) => [
  ['npx aetheel service status', 'how it does'],
  [`journalctl --user -u ${name} -f`, 'its log'],
  ['npx aetheel service remove', 'undoes all of it'],
]

type Speak = (line: string) => void

/** With --json the words are among the data. */
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

async function setUp({ name, systemctl }: UnitDesk, now: boolean, again: boolean): Promise<SetUp> {
  const steps: string[][] = [
    ['daemon-reload'],
    ['enable', ...(now ? ['--now'] : []), name],
    // One that runs already goes on by the old unit.
    ...(again ? [['restart', name]] : []),
  ]
  const byHand = (from: number) => steps.slice(from).map(step => `  systemctl --user ${step.join(' ')}`)
  for (const [i, step] of steps.entries()) {
    const done = await systemctl(...step)
    if (done === null) return { ok: false, next: ['There is no systemctl on the PATH. To run it, type:', ...byHand(0)] }
    if (!done.ok)
      return {
        ok: false,
        next: [
          `"systemctl --user ${step.join(' ')}" failed: ${done.said.replace(/\s+/g, ' ')}`,
          ...(noBus.test(done.said) ? [`There is no systemd session of this user here. ${noBusHelp}`] : []),
          ...['Then go on with:', ...byHand(i)],
        ],
      }
  }
  return { ok: true, next: [] }
}

const noBus = /connect to bus|No medium found|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR/i
const noBusHelp = 'Log in as the user itself (not by su or sudo), or type: loginctl enable-linger'

function whatElse({ name, onlyHere, lingers }: UnitDesk, beside: number | null, set: boolean): readonly string[] {
  return [
    ...(beside === null
      ? []
      : [`A gateway runs here already (process ${beside}). Stop it, then: systemctl --user start ${name}`]),
    ...(onlyHere.length === 0
      ? []
      : [`Set in this shell alone, so the service does not see it: ${onlyHere.join(', ')}. Put it into .env.`]),
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
      `${unit.file} was not made by this program. "npx aetheel service remove --force" deletes it all the same.`,
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

const units: Readonly<Record<UnitDesk['there'], (file: string) => string>> = {
  no: () => 'none; "npx aetheel service install" writes one',
  same: file => file,
  other: file =>
    `${file}, which is not as one made here and now would be; "npx aetheel service install" shows how it differs`,
  foreign: file => `${file}, which was not made by this program`,
}
