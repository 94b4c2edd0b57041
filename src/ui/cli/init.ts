// `aetheel init`: asks what it needs, shows what it would write, writes it, and tests it with a turn.

import type { Check } from '../../base/check.ts'
import { openProgress } from './chat/progress.ts'
import { renderDiff } from './diff.ts'
import { createPage } from './doctor.ts'
import { whereOf } from './gateway-client.ts'
import { type Chosen, chatsOn, choose, choosers } from './init-choices.ts'
import { Unclear } from './init-questions.ts'
import type { CliPorts, Flags, Plan } from './ports.ts'
import { createQuestions, Left } from './questions.ts'
import { aligned, paintFor, type Terminal, withoutControls } from './terminal.ts'

/** 0: written, and the agent has answered; 2: missing input; 130: cancelled, and nothing was changed. */
export async function initWorkspace(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  version: string,
): Promise<number> {
  const stop = new AbortController()
  const stopListening = terminal.onInterrupt(() => stop.abort())
  const { stderr } = terminal
  try {
    return await beginning(ports, terminal, flags, version, stop.signal)
  } catch (error) {
    if (error instanceof Unclear) {
      stderr.write(`aetheel: ${error.message}\n`)
      return 2
    }
    if (!(error instanceof Left) && !stop.signal.aborted) throw error
    stderr.write('Cancelled. Nothing was changed.\n')
    return 130
  } finally {
    stopListening()
  }
}

async function beginning(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  version: string,
  signal: AbortSignal,
): Promise<number> {
  const { stdin, stderr } = terminal
  const json = flags.json === true
  const asks = flags.yes !== true && stdin.isTTY === true && stderr.isTTY === true
  const say = (text = '') => void (asks || !json ? (asks ? stderr : terminal.stdout).write(`${text}\n`) : undefined)
  if (asks) say(`${paintFor(stderr)('bold', `Aetheel ${version}`)}\n`)
  const chooser = choosers(terminal, flags, asks ? createQuestions(terminal) : null, say, signal)
  const chosen = await choose(ports, flags, chooser)
  const plan = await chosen.setup.plan(chosen.choices)
  showPlan(plan, say, paintFor(asks ? stderr : terminal.stdout))
  if (signal.aborted) throw new Left()
  if (asks && plan.files.length > 0 && !(await createQuestions(terminal).confirm('Write this?'))) throw new Left()

  const written = await plan.write()
  if (plan.files.length > 0) say('Written.')
  const live = flags.turn === false ? null : await prove(ports, terminal, flags, chosen, json, signal)
  if (signal.aborted) {
    await written.undo()
    throw new Left()
  }
  const running = await ports.find(chosen.where)
  if (json) terminal.stdout.write(`${JSON.stringify(summary(chosen, plan, live), null, 2)}\n`)
  else for (const line of next(chosen, running !== null, flags)) say(line)
  return live === null || live.status === 'ok' ? 0 : 1
}

function showPlan({ files, warnings }: Plan, say: (text?: string) => void, paint: ReturnType<typeof paintFor>): void {
  say()
  if (files.length === 0) say('All of this is set already: there is nothing to write.')
  else say('This will be written:')
  for (const { path, isNew, diff, copy } of files) {
    say(`  ${paint('bold', path)}${isNew ? ', new' : copy === null ? '' : `; the old file is kept as ${copy}`}`)
    for (const line of renderDiff(diff.replace(/^@@.*\n/gm, ''), paint)) say(line)
  }
  for (const warning of warnings) say(`${paint('yellow', 'Warning:')} ${warning}`)
  say()
}

/** Besides the turn itself, only failed checks are shown. */
async function prove(
  ports: CliPorts,
  terminal: Terminal,
  flags: Flags,
  { where, choices, setup }: Chosen,
  json: boolean,
  signal: AbortSignal,
): Promise<Check | null> {
  const page = createPage(flags.yes === true ? terminal.stdout : terminal.stderr)
  const progress = openProgress(terminal.stderr, terminal.now, () => '')
  const backend = choices.backend ?? setup.backend
  progress.show(`asking ${backend ?? 'the agent'} for a first answer`)
  let live: Check | null = null
  try {
    for await (const finding of ports.doctor(where, true, signal)) {
      if (finding.type !== 'check') continue
      const { check } = finding
      if (check.name === 'live') live = check
      if (check.name !== 'live' && check.status !== 'fail') continue
      progress.hide()
      if (!json) page.row(check)
    }
  } finally {
    progress.close()
  }
  return live
}

const summary = ({ setup, choices }: Chosen, { files, warnings }: Plan, live: Check | null) => ({
  dir: setup.dir,
  backend: choices.backend ?? setup.backend,
  owner: choices.owner ?? setup.owners[0] ?? null,
  chats: chatsOn(setup, choices.chats),
  files: files.map(({ path, isNew, copy }) => ({ path, change: isNew ? 'written' : 'changed', copy })),
  warnings,
  live,
})

function next({ setup, choices }: Chosen, running: boolean, flags: Flags): readonly string[] {
  const dir = typeof flags.configDir === 'string' ? ` --config-dir ${flags.configDir}` : ''
  const ownerless = chatsOn(setup, choices.chats).length > 0 && choices.owner === null && setup.owners.length === 0
  return [
    '',
    'Next:',
    ...aligned([
      running
        ? ['  (a gateway runs here)', 'restart it, so that all of this takes effect']
        : [`  npx aetheel start${dir}`, 'runs it'],
      [`  npx aetheel service install${dir}`, 'lets systemd run it'],
      ...(ownerless
        ? [[`  npx aetheel pair approve CODE --owner${dir}`, 'after you have written to the bot and got a code']]
        : []),
    ]),
    `Its identity and memory are Markdown files in ${withoutControls(setup.dir)}: you can edit them while it runs.`,
  ]
}

export async function initExample(ports: CliPorts, terminal: Terminal, flags: Flags): Promise<number> {
  const { dir, written, kept } = await ports.initExample(whereOf(flags))
  if (flags.json === true) {
    terminal.stdout.write(`${JSON.stringify({ dir, written, kept }, null, 2)}\n`)
    return 0
  }
  const files = (names: readonly string[]) => names.map(name => `  ${name}`)
  const lines = [
    ...(written.length === 0 ? [`Nothing was written to ${dir}: all files exist already.`] : [`Written to ${dir}:`]),
    ...files(written),
    ...(kept.length === 0 ? [] : ['Not changed:', ...files(kept)]),
    '',
    'Next:',
    '  npx aetheel start       runs it',
    '  npx aetheel cron list   shows what it will do, and when',
    'These are Markdown files: you can edit them while the gateway runs.',
  ]
  terminal.stdout.write(`${lines.join('\n')}\n`)
  return 0
}
