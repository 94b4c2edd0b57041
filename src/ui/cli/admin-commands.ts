// The commands pair, logins, cron, sessions, memory, approvals and logs with their options.
import { InvalidArgumentError, Option } from 'commander'
import type { NewJob } from '../../base/jobs.ts'
import { logLevels } from '../../base/logs.ts'
import { ruleScopes } from '../../base/requests.ts'
import { examples, type Making } from './command.ts'
import type { Flags } from './ports.ts'

const asJson = ['--json', 'as JSON'] as const

export function addPair({ program, ports, terminal, action }: Making): void {
  const pair = program.command('pair').description('manage access: list, approve and deny requests')
  const load = () => import('./pair.ts')
  const list = pair
    .command('list')
    .description('list the open requests with their codes, and the people you have approved or denied')
    .option('--json', 'as {requests, people}')
    .action(action(async flags => (await load()).listPairing(ports, terminal, flags, flags.json === true)))
  const approve = pair
    .command('approve')
    .description('approve somebody by their code')
    .argument('<code>', 'the code; or chat:user, as the list shows it, of somebody you approved or denied before')
    .option('--owner', 'as an owner, who may do everything')
    .option('--json', 'as {type, person, …}: approved, expired, unknown or locked')
    .action(
      action(async (flags, [code = '']) =>
        (await load()).approvePairing(ports, terminal, flags, code, flags.owner === true),
      ),
    )
  const deny = pair
    .command('deny')
    .description('deny somebody, also if they were approved before; they get no more answers')
    .argument('<code-or-user>', 'the code, or chat:user as the list shows it')
    .option('--json', 'as {type, person}: denied or unknown')
    .action(action(async (flags, [target = '']) => (await load()).denyPairing(ports, terminal, flags, target)))
  examples(pair, ['npx aetheel pair list', 'npx aetheel pair approve K7QM-4XWD', 'npx aetheel pair deny discord:1234'])
  examples(list, ['npx aetheel pair list', 'npx aetheel pair list --json'])
  examples(approve, [
    'npx aetheel pair approve K7QM-4XWD --owner',
    'npx aetheel pair approve k7qm4xwd',
    'npx aetheel pair approve discord:1234 --owner',
  ])
  examples(deny, ['npx aetheel pair deny K7QM-4XWD', 'npx aetheel pair deny discord:1234'])
}

export function addLogins({ program, ports, terminal, action }: Making): void {
  const logins = program.command('logins').description('manage the browsers that are logged in')
  const load = () => import('./logins.ts')
  const list = logins
    .command('list')
    .description('the browsers that are logged in, and when each was used last')
    .option('--json', 'as a list of {id, name, at, usedAt}')
    .action(action(async flags => (await load()).listLogins(ports, terminal, flags)))
  const revoke = logins
    .command('revoke')
    .description('log a browser out; its open pages lose their connection')
    .argument('<id>', 'the id, as the list shows it, or all')
    .option('--json', 'as {ok, ended}')
    .action(action(async (flags, [id = '']) => (await load()).revokeLogin(ports, terminal, flags, id)))
  examples(logins, ['npx aetheel logins list', 'npx aetheel logins revoke all'])
  examples(list, ['npx aetheel logins list', 'npx aetheel logins list --json'])
  examples(revoke, ['npx aetheel logins revoke 3fa9c1', 'npx aetheel logins revoke all'])
}

export function addLogs({ program, ports, terminal, action }: Making): void {
  const logs = program
    .command('logs')
    .description('show the log, newest last; also while the gateway is not running')
    .option('-f, --follow', 'keep printing new lines until Ctrl-C')
    .option('-n, --lines <number>', 'how many of the newest lines', lineCount, '100')
    .addOption(new Option('--level <name>', 'this level and above').choices(logLevels).default('trace'))
    .option('--json', 'each line as {at, level, text, fields}')
    .action(
      action(async flags => {
        const { showLogs } = await import('./logs.ts')
        const level = logLevels.find(name => name === flags.level) ?? 'trace'
        const [follow, json] = [flags.follow === true, flags.json === true]
        return showLogs(ports, terminal, { flags, most: Number(flags.lines), level, follow, json })
      }),
    )
  examples(logs, [
    'npx aetheel logs',
    'npx aetheel logs -f --level warn',
    'npx aetheel logs -n 1000 --json | jq -r .text',
  ])
}

function lineCount(text: string): string {
  if (/^\d{1,6}$/.test(text) && Number(text) > 0) return text
  throw new InvalidArgumentError('Allowed are whole numbers from 1 to 999999.')
}

export function addCron({ program, ports, terminal, action }: Making): void {
  const cron = program.command('cron').description("manage the agent's scheduled jobs")
  const load = () => import('./cron.ts')
  const list = cron
    .command('list')
    .description('the jobs of heartbeat.md and agents.md, when they run next, and entries that cannot be used')
    .option('--json', 'as {jobs, troubles}')
    .action(action(async flags => (await load()).listJobs(ports, terminal, flags)))
  const add = cron
    .command('add')
    .description('add a job, and show its next three runs')
    .argument('<name>', 'what it is called')
    .argument(
      '<schedule>',
      '"every 30 minutes", "every weekday at 9:00", "in 2 hours", "at 2026-11-17 09:00", or a cron expression',
    )
    .argument('<instruction...>', 'what the agent should do')
    .option('--channel <place>', 'where the answer goes, such as discord:1234 (default: OUTPUT_CHANNEL_ID)')
    .option('--timezone <zone>', 'time zone of the schedule, such as Europe/Berlin')
    .option('--model <name>', 'the model to use: MODEL or BACKEND/MODEL')
    .addOption(
      new Option(
        '--if-missed <what>',
        'what to do about runs missed while the gateway was down (default: once, or skip for intervals such as "every 30 minutes")',
      ).choices(['skip', 'once']),
    )
    .option(
      '--skip-if-unchanged <what>',
      'do nothing while this stays the same: "file PATH", "url ADDRESS" or "command …"',
    )
    .option(...asJson)
    .action(
      action(async (flags, [name = '', schedule = '', ...instruction]) =>
        (await load()).addJob(ports, terminal, flags, newJob(flags, name, schedule, instruction.join(' '))),
      ),
    )
  const one = (verb: string, about: string, run: (flags: Flags, name: string) => Promise<number>) => {
    const command = cron
      .command(verb)
      .description(about)
      .argument('<name>', 'as the list shows it')
      .option(...asJson)
    examples(command, [`npx aetheel cron ${verb} briefing`, `npx aetheel cron ${verb} briefing --json`])
    command.action(action((flags, [name = '']) => run(flags, name)))
  }
  one('pause', 'pause a job', async (flags, name) => (await load()).pauseJob(ports, terminal, flags, name, true))
  one('resume', 'resume a paused job', async (flags, name) =>
    (await load()).pauseJob(ports, terminal, flags, name, false),
  )
  one('remove', 'remove a job from its file', async (flags, name) =>
    (await load()).removeJob(ports, terminal, flags, name),
  )
  one('run', 'run a job now, in addition to its schedule; needs a running gateway', async (flags, name) =>
    (await load()).runJob(ports, terminal, flags, name),
  )
  examples(cron, [
    'npx aetheel cron list',
    'npx aetheel cron add briefing "every weekday at 9:00" "Tell me what is on today."',
    'npx aetheel cron pause briefing',
  ])
  examples(list, ['npx aetheel cron list', 'npx aetheel cron list --json'])
  examples(add, [
    'npx aetheel cron add briefing "every weekday at 9:00" "Tell me what is on today." --timezone Europe/Berlin',
    'npx aetheel cron add inbox "every 30 minutes" "Is there anything new?" --skip-if-unchanged "file inbox.md"',
    'npx aetheel cron add party "at 2026-12-31 18:00" "Remind me of the party." --channel discord:1234',
  ])
}

function newJob(flags: Flags, name: string, schedule: string, instruction: string): NewJob {
  const written = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : null)
  return {
    ...{ name, schedule, instruction, zone: written('timezone'), channel: written('channel'), model: written('model') },
    ...(flags.ifMissed === undefined ? {} : { missed: flags.ifMissed === 'once' ? 'once' : 'skip' }),
    skipIf: written('skipIfUnchanged'),
  }
}

export function addSessions({ program, ports, terminal, action }: Making): void {
  const sessions = program.command('sessions').description('list and clear the sessions of conversations')
  const load = () => import('./sessions.ts')
  const list = sessions
    .command('list')
    .description('the sessions, most recently used first')
    .option('-n, --number <n>', 'how many at most; 100 if not given, with --json all', upTo(100_000))
    .option('--json', 'as a JSON array')
    .action(action(async flags => (await load()).listSessions(ports, terminal, flags)))
  const clear = sessions
    .command('clear')
    .description('reset conversations, as /new does: the stale ones, unless you say which')
    .argument('[conversation]', 'as the list shows it')
    .option('--stale', 'those not used for 30 days, without waiting messages')
    .option('--all', 'every conversation; asks first on a terminal')
    .option('--yes', 'do not ask')
    .option('--json', 'as {ok, lanes} or {ok, why}')
    .action(action(async (flags, [conversation]) => (await load()).clearSessions(ports, terminal, flags, conversation)))
  examples(sessions, ['npx aetheel sessions list', 'npx aetheel sessions clear webchat:kitchen'])
  examples(list, ['npx aetheel sessions list', 'npx aetheel sessions list -n 20', 'npx aetheel sessions list --json'])
  examples(clear, [
    'npx aetheel sessions clear webchat:kitchen',
    'npx aetheel sessions clear --stale',
    'npx aetheel sessions clear --all --yes',
  ])
}

export function addMemory({ program, ports, terminal, action }: Making): void {
  const memory = program.command('memory').description('search the memory, and review its changes')
  const load = () => import('./memory.ts')
  const search = memory
    .command('search')
    .description('look for words in memory.md, the brain, the conversations and the notes')
    .argument('<words...>', 'what to look for')
    .option('-n, --number <n>', 'how many at most', upTo(100), '10')
    .option('--json', 'as a JSON array')
    .action(action(async (flags, words) => (await load()).searchMemory(ports, terminal, flags, words.join(' '))))
  const sync = memory
    .command('sync')
    .description('read everything again, if a search seems to miss something')
    .option('--json', 'as {documents, changed}')
    .action(action(async flags => (await load()).syncMemory(ports, terminal, flags)))
  const log = memory
    .command('log')
    .description('who changed what, the newest first')
    .option('-n, --number <n>', 'how many at most', upTo(1000), '20')
    .option('--diff', 'show the changes themselves')
    .option('--json', 'as a JSON array')
    .action(action(async flags => (await load()).logMemory(ports, terminal, flags)))
  const undo = memory
    .command('undo')
    .description('undo a change, and keep later ones')
    .argument('[id]', 'as the log shows it; without one, the newest in effect', changeId)
    .option(...asJson)
    .action(action(async (flags, [id]) => (await load()).decideMemory(ports, terminal, flags, 'undo', id)))
  for (const [verb, about] of [
    ['approve', 'approve a pending change'],
    ['deny', 'deny a pending change'],
  ] as const) {
    const decide = memory
      .command(verb)
      .description(about)
      .argument('<id>', 'as the log shows it', changeId)
      .option(...asJson)
      .action(action(async (flags, [id]) => (await load()).decideMemory(ports, terminal, flags, verb, id)))
    examples(decide, [`npx aetheel memory ${verb} 7`])
  }
  examples(memory, ['npx aetheel memory search "train to Rome"', 'npx aetheel memory log --diff'])
  examples(search, ['npx aetheel memory search train Rome', 'npx aetheel memory search -n 3 --json train'])
  examples(sync, ['npx aetheel memory sync'])
  examples(log, ['npx aetheel memory log', 'npx aetheel memory log -n 5 --diff'])
  examples(undo, ['npx aetheel memory undo', 'npx aetheel memory undo 7'])
}

export function addApprovals({ program, ports, terminal, action }: Making): void {
  const approvals = program
    .command('approvals')
    .description('what agents ask before they go on: list, show, allow, deny, answer')
  const load = () => import('./approvals.ts')
  const list = approvals
    .command('list')
    .description('what waits for an answer, the oldest first')
    .option('--all', 'also what has ended, the newest first')
    .option('--json', 'as a JSON array')
    .action(action(async flags => (await load()).listApprovals(ports, terminal, flags)))
  const show = approvals
    .command('show')
    .description('one request: the whole command or diff, where, for whom')
    .argument('<id>', 'as the list shows it', requestId)
    .option(...asJson)
    .action(action(async (flags, [id = '']) => (await load()).showApproval(ports, terminal, flags, id)))
  const allow = approvals
    .command('allow')
    .description('allow it once, or approve a plan')
    .argument('<id>', 'as the list shows it', requestId)
    .addOption(new Option('--always <scope>', 'also add the rule that "show" names').choices(ruleScopes))
    .option('--json', 'as {ok, request} or {ok, why}')
    .action(action(async (flags, [id = '']) => (await load()).allowApproval(ports, terminal, flags, id)))
  const deny = approvals
    .command('deny')
    .description('deny it; the agent goes on without it')
    .argument('<id>', 'as the list shows it', requestId)
    .option('--reason <text>', 'what the agent is told')
    .option('--json', 'as {ok, request} or {ok, why}')
    .action(action(async (flags, [id = '']) => (await load()).denyApproval(ports, terminal, flags, id)))
  const answer = approvals
    .command('answer')
    .description('answer a question')
    .argument('<id>', 'as the list shows it', requestId)
    .argument('<answers...>', 'one for each question, in quotes: an option or your own words')
    .option('--json', 'as {ok, request} or {ok, why}')
    .action(action(async (flags, words) => (await load()).answerApproval(ports, terminal, flags, words)))
  examples(approvals, ['npx aetheel approvals list', 'npx aetheel approvals show 7', 'npx aetheel approvals allow 7'])
  examples(list, ['npx aetheel approvals list', 'npx aetheel approvals list --all --json'])
  examples(show, ['npx aetheel approvals show 7'])
  examples(allow, ['npx aetheel approvals allow 7', 'npx aetheel approvals allow 7 --always project'])
  examples(deny, ['npx aetheel approvals deny 7 --reason "Use the old build."'])
  examples(answer, ['npx aetheel approvals answer 7 "Blue"'])
}

function requestId(text: string): string {
  if (/^[1-9]\d{0,14}$/.test(text)) return text
  throw new InvalidArgumentError('It is a number; "npx aetheel approvals list" shows it.')
}

const upTo = (most: number) => (text: string) => {
  if (/^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= most) return text
  throw new InvalidArgumentError(`Allowed are numbers from 1 to ${most}.`)
}

function changeId(text: string): string {
  if (/^[1-9]\d{0,14}$/.test(text)) return text
  throw new InvalidArgumentError('It is a number; "npx aetheel memory log" shows it.')
}
