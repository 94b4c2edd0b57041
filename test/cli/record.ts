// `npm run record`: runs the real CLIs as the dialects run them, with a fake model on loopback, and records their output.
// Separate homes, dummy keys. `npm run record -- claude pi` records only those.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Turn } from '../../src/base/agent.ts'
import { dialects } from '../../src/run/backends/index.ts'
import { childEnvironment } from '../../src/run/child-environment.ts'
import { type Dialect, endOf, systemPromptIn } from '../../src/run/cli.ts'
import { type ProcessEnd, startProcess } from '../../src/run/process.ts'
import { type Cli, clis, installCli, installModel } from './install.ts'
import { type Model, openModel, prompts } from './model.ts'
import { type Case, cases, type Run, recordingsDir, recordingText } from './recordings.ts'
import { setups } from './setups.ts'

const capMs = 60_000
const mostBytes = 100_000

/** In the format of each CLI, so that the id is not refused as malformed. */
const unknownSession = (cli: Cli) =>
  cli === 'opencode' ? 'ses_000000000ffe00000000000000' : 'dead0000-0000-4000-8000-000000000000'

interface Stage {
  readonly cli: Cli
  readonly dialect: Dialect
  readonly program: string
  readonly home: string
  readonly model: Model
  readonly env: Readonly<Record<string, string>>
  readonly clean: (text: string) => string
}

async function openStage(cli: Cli, program: string, modelPath: string) {
  const dialect = dialects.find(one => one.name === cli)
  if (!dialect) throw new Error('there is no dialect for it')
  const home = mkdtempSync(join(tmpdir(), 'aetheel-record-'))
  for (const dir of ['workspace', 'tmp']) mkdirSync(join(home, dir))
  writeFileSync(join(home, 'workspace', 'notes.md'), 'The kettle is in the garden.\n')
  const model = await openModel(modelPath, cli)
  const setup = setups[cli](home, model.url)
  if (cli === 'gemini') fewAttempts(join(home, '.gemini', 'settings.json'))
  const env = childEnvironment(dialect, {
    environment: { PATH: process.env.PATH, HOME: home, TMPDIR: join(home, 'tmp'), ...setup },
    handOn: Object.keys(setup),
    extra: {},
  })
  const stage: Stage = { cli, dialect, program, home, model, env, clean: cleaner(home, program) }
  const close = async () => {
    await model.close()
    rmSync(home, { recursive: true, force: true })
  }
  return { stage, close }
}

/** gemini would retry for more than three minutes; this is a user setting without a variable. */
function fewAttempts(settings: string): void {
  writeFileSync(
    settings,
    JSON.stringify({ ...JSON.parse(readFileSync(settings, 'utf8')), general: { maxAttempts: 2 } }),
  )
}

async function versionOf({ program, env, home }: Stage): Promise<string> {
  const child = startProcess({ file: program, args: ['--version'], env, cwd: home, input: '' })
  let said = ''
  for await (const line of child.lines) said += `${line}\n`
  const version = /\d+\.\d+\.\d+[\w.-]*/.exec(said)?.[0]
  if (version === undefined) throw new Error(`--version said ${JSON.stringify(said || (await child.end).stderr)}`)
  return version
}

async function record(stage: Stage, version: string, name: Case, session: Turn['session']) {
  const { cli, dialect, home, env } = stage
  const dir = join(home, 'run')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  const turn: Turn = {
    prompt: prompts[name],
    systemPrompt: 'You are a test.',
    session,
    model: env.BACKEND_MODEL ?? null,
    maxTurns: 25,
    allowedTools: ['Read', 'Write'],
    askTools: [],
    permissionMode: 'bypassPermissions',
    mcpServers: [],
    workingDir: join(home, 'workspace'),
  }
  const files = { ...dialect.files(turn, env), [systemPromptIn('')]: turn.systemPrompt }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text)
  const heard = await listen(stage, turn, dir, name === 'killed')
  const run: Run = {
    cli,
    version,
    case: name,
    prompt: turn.prompt,
    session,
    arguments: dialect.arguments(turn, dir),
    cut: heard.cut,
    code: heard.end.code,
    signal: heard.end.signal,
    stderr: heard.end.stderr.slice(-4000),
  }
  const text = stage.clean(recordingText(run, heard.lines))
  refuseWhatIsPrivate(text)
  const file = join(recordingsDir, cli, version, `${name}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return { ...meaningOf(dialect, turn, heard), cut: heard.cut }
}

interface Heard {
  readonly lines: readonly string[]
  readonly end: ProcessEnd
  readonly cut: string | null
}

/** `killing`: with SIGTERM after the first text, or after the model's first text if the CLI does not stream. */
async function listen(
  { dialect, program, env, model }: Stage,
  turn: Turn,
  dir: string,
  killing: boolean,
): Promise<Heard> {
  const child = startProcess({
    file: program,
    args: dialect.arguments(turn, dir),
    env: { ...env, ...dialect.environment(turn, dir, env) },
    cwd: turn.workingDir,
    input: dialect.input(turn),
  })
  let cut: string | null = null
  const cap = setTimeout(() => {
    cut = `still running after ${capMs / 1000} s, then ended by SIGTERM`
    child.kill()
  }, capMs)
  const before = model.asked()
  let since = 0
  const watch = setInterval(() => {
    if (killing && model.asked() > before && ++since > 30) child.kill()
  }, 100)
  const reader = dialect.read(turn)
  const lines: string[] = []
  for await (const line of child.lines) {
    lines.push(line)
    if (killing && reader.line(line).some(event => event.type === 'text')) child.kill()
  }
  const end = await child.end
  clearTimeout(cap)
  clearInterval(watch)
  return { lines, end, cut }
}

/** What the dialect reports, to show it, and to get the session for the next case. */
function meaningOf(dialect: Dialect, turn: Turn, { lines, end }: Heard) {
  const reader = dialect.read(turn)
  const events = lines.flatMap(line => reader.line(line))
  const ended = events.find(event => event.type === 'ended') ?? endOf(end, reader)
  const started = events.find(event => event.type === 'started')
  return { said: ended.ok ? ended.text : `${ended.why}: ${ended.detail}`, session: started?.session ?? null }
}

/** Removes everything about this machine: paths, users, ports. */
function cleaner(home: string, program: string): (text: string) => string {
  const installed = program.slice(0, program.lastIndexOf('/node_modules/'))
  const replaced: [string, string][] = [
    [home, '/home/user'],
    [home.slice(1), 'home/user'],
    // claude's name for the folder of a project.
    [home.replaceAll('/', '-'), '-home-user'],
    [installed, '/opt/cli'],
    [hostname(), 'host'],
  ]
  return text =>
    replaced
      .reduce((clean, [what, by]) => clean.replaceAll(what, by), text)
      .replace(/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, '$1:0')
}

function refuseWhatIsPrivate(text: string): void {
  const found = /aetheel-record|(?<!\w)\/(?:tmp|root|work|Users|private|var)\/[^"\s]*|\/home\/(?!user\b)\w+/.exec(text)
  if (found) throw new Error(`the recording names ${found[0]}`)
  if (text.length > mostBytes) throw new Error(`the recording is too large: ${text.length} bytes`)
}

async function recordAll(cli: Cli, modelPath: string): Promise<boolean> {
  const program = installCli(cli)
  if ('why' in program) return failed(cli, program.why)
  const { stage, close } = await openStage(cli, program.path, modelPath)
  try {
    const version = await versionOf(stage)
    let last: string | null = null
    for (const [i, name] of cases.entries()) {
      const fresh = stage.dialect.takesSessionIds
        ? // Other from the start on: gemini names its files by that, and loses one for another of the same name.
          { id: `${i}0000000-0000-4000-8000-000000000000`, resume: false }
        : null
      const old = name === 'lost' || name === 'forgotten' ? unknownSession(cli) : name === 'resume' ? last : null
      const made = await record(stage, version, name, old === null ? fresh : { id: old, resume: true })
      console.log(
        `${cli} ${version} ${name}: ${stage.clean(made.said).slice(0, 150)}${made.cut ? ` (${made.cut})` : ''}`,
      )
      last = made.session
    }
    return true
  } catch (error) {
    return failed(cli, error instanceof Error ? error.message : String(error))
  } finally {
    await close()
  }
}

function failed(cli: string, why: string): false {
  console.error(`NOT RECORDED: ${cli}: ${why}`)
  return false
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !clis.some(cli => cli === name))
const chosen = clis.filter(cli => wanted.length === 0 || wanted.includes(cli))
const model = installModel()
const done =
  'why' in model
    ? [failed('all of them', model.why)]
    : await Promise.all([
        ...unknown.map(name => failed(name, `known are ${clis.join(', ')}`)),
        ...chosen.map(cli => recordAll(cli, model.path)),
      ])
process.exitCode = done.every(Boolean) ? 0 : 1
