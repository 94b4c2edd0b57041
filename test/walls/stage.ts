// An owner with secrets, a guest, and a model that does what the attacker says: everything a real CLI meets in a guest's turn.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentEvent, Backend, Turn } from '../../src/base/agent.ts'
import type { NewEvent } from '../../src/base/event.ts'
import { createBackend, createProfiles, createTempDirs, findWall } from '../../src/run/index.ts'
import { openFront } from '../cli/front.ts'
import { type Cli, installCli, installModel } from '../cli/install.ts'
import { setups } from '../cli/setups.ts'
import { openSecure } from './secure.ts'

export interface Call {
  readonly name: string
  readonly arguments: string
}

interface Request {
  readonly messages: readonly { readonly role?: string; readonly content?: unknown }[]
}

interface Mock {
  readonly url: string
  on(match: object, response: object | ((request: Request) => Promise<object>)): void
  getRequests(): { body?: unknown }[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

const call = (name: string, args: object): Call => ({ name, arguments: JSON.stringify(args) })

/** How the model calls the tools of each CLI. */
export const tools: Record<
  Cli,
  { read(file: string): Call; write(file: string, content: string): Call; run(command: string): Call }
> = {
  claude: {
    read: file_path => call('Read', { file_path }),
    write: (file_path, content) => call('Write', { file_path, content }),
    run: command => call('Bash', { command, description: 'do it' }),
  },
  codex: {
    read: file => call('exec_command', { cmd: `cat '${file}'` }),
    write: (file, content) => call('exec_command', { cmd: `printf %s '${content}' > '${file}'` }),
    run: cmd => call('exec_command', { cmd }),
  },
  gemini: {
    read: file_path => call('read_file', { file_path }),
    write: (file_path, content) => call('write_file', { file_path, content }),
    run: command => call('run_shell_command', { command }),
  },
  opencode: {
    read: filePath => call('read', { filePath }),
    write: (filePath, content) => call('write', { filePath, content }),
    run: command => call('bash', { command, description: 'do it' }),
  },
  pi: {
    read: path => call('read', { path }),
    write: (path, content) => call('write', { path, content }),
    run: command => call('bash', { command }),
  },
}

/** In every file that a guest must not see. */
export const canary = 'CANARY-of-the-owner'

/** Why there can be no box here; null: there can. */
export const noBox = await findWall('auto', process.env.PATH, new AbortController().signal).then(({ kind, detail }) =>
  kind === 'bwrap' ? null : detail,
)

export type Stage = Awaited<ReturnType<typeof openStage>>

/** Null and a reason if it cannot run here. */
export function whyNot(cli: Cli): string | null {
  const [program, model] = [installCli(cli), installModel()]
  return 'why' in program ? program.why : 'why' in model ? model.why : null
}

interface StageOptions {
  readonly wall?: 'auto' | 'flags'
  /** GUEST_NETWORK. */
  readonly network?: readonly string[]
  /** The model has a name and TLS, so that only the proxy leads there. */
  readonly byName?: boolean
  /** The address of the gateway. */
  readonly gateway?: string
}

export async function openStage(cli: Cli, given: StageOptions = {}) {
  const [program, model] = [installCli(cli), installModel()]
  if ('why' in program || 'why' in model) throw new Error('it cannot run here')
  const { LLMock } = (await import(model.path)) as { LLMock: new (options: { port: number }) => Mock }
  const mock = new LLMock({ port: 0 })
  let script: readonly Call[] = []
  let pauseMs = 0
  // The results so far tell how far the attack is.
  mock.on({ userMessage: /.*/ }, async request => {
    await sleep(pauseMs)
    const done = request.messages.filter(({ role }) => role === 'tool').length
    const next = script[done]
    return next ? { toolCalls: [next] } : { content: 'That was all.' }
  })
  await mock.start()
  const front = await openFront(mock.url)
  const dir = mkdtempSync(join(tmpdir(), 'aetheel-walls-'))
  const home = join(dir, 'home')
  const workspace = join(home, 'space')
  const put = (file: string, text = `${canary} ${file}\n`) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  const secrets = [
    ...['.aetheel/token', '.aetheel/runs/run-owner/mcp.json', 'messages/webchat-home.jsonl', 'conversations/home.md'],
    ...['.env', 'config.json', 'memory.md', 'guests/other/diary.txt', 'files/in/1/letter.txt'],
  ].map(name => put(join(workspace, name)))
  secrets.push(
    ...['CLAUDE.md', '.ssh/id_ed25519', '.claude/settings.local.json', '.netrc', '.gitconfig'].map(name =>
      put(join(home, name)),
    ),
    put(join(dir, 'CLAUDE.md')),
  )
  put(join(workspace, 'skills/greeting/SKILL.md'), '---\nname: greeting\ndescription: How to greet\n---\nSay hello.\n')
  const secure = given.byName ? await openSecure(front.url, dir) : null
  const extra: Record<string, string> = { ...setups[cli](home, secure?.url ?? front.url), ...secure?.environment }
  const environment = { PATH: process.env.PATH ?? '', HOME: home, ...extra, OWNERS_SECRET: canary }
  const wall = await findWall(given.wall ?? 'auto', process.env.PATH, new AbortController().signal)
  let guestTools: readonly string[] = []
  let sandbox: 'off' | 'workspace' = 'off'
  const profiles = createProfiles({
    ...{ workspace, stateDir: join(workspace, '.aetheel'), product: [], project: workspace },
    wall: async () => wall,
    settings: () => ({
      ...{ guestTools, guestMcp: [], guestEnv: [], sandbox, allowedTools: [] },
      ...{ guestNetwork: given.network ?? ['model'], guestUrls: [] },
    }),
  })
  const backend = createBackend(cli, {
    ...{ program: program.path, sdkPath: null, environment, pool: null, clock: null as never },
    handOn: ['OWNERS_SECRET'],
    extra: { FROM_THE_CONFIGURATION: canary },
    scrub: text => text,
    reach: { gateway: () => given.gateway ?? '', ...(secure ? { lookup: secure.lookup } : {}) },
    tempDirs: createTempDirs(join(workspace, '.aetheel', 'runs')),
  }) as Backend

  async function run(calls: readonly Call[], given: Partial<Turn>) {
    script = calls
    const seen = mock.getRequests().length
    const turn: Turn = {
      ...{ prompt: 'Do it.', systemPrompt: 'You are a test.', session: null, maxTurns: 40, mcpServers: [] },
      ...{ model: extra.BACKEND_MODEL ?? null, permissionMode: 'bypassPermissions', workingDir: workspace },
      allowedTools: [],
      askTools: [],
      ...given,
    }
    const events: AgentEvent[] = []
    for await (const event of backend.run(turn, AbortSignal.timeout(80_000))) events.push(event)
    return {
      events,
      requests: JSON.stringify(
        mock
          .getRequests()
          .slice(seen)
          .map(({ body }) => body),
      ),
    }
  }

  return {
    ...{ dir, home, workspace, secrets, wall, put, cli, tools: tools[cli] },
    folderOf: (person: string) => join(workspace, 'guests', person),
    homeOf: (person: string) => join(workspace, '.aetheel', 'homes', person),
    /** A turn on the words of this guest, in which the model makes these calls one after the other. */
    async attack(calls: readonly Call[], by: { person?: string; tools?: readonly string[] } = {}) {
      guestTools = by.tools ?? ['Read', 'Glob', 'Grep', 'WebSearch']
      const confinement = await profiles.of({ item: said(by.person ?? 'mallory'), earlier: [] }, cli)
      if (!confinement) throw new Error('a guest without a profile')
      return run(calls, confinement.turn)
    },
    /** How long the model thinks before each call: a CLI that watches its files needs a moment to notice them. */
    think(ms: number) {
      pauseMs = ms
    },
    /** A turn of the owner, whose agent was misled. */
    async misled(calls: readonly Call[], allowedTools: readonly string[], given: 'off' | 'workspace' = 'off') {
      sandbox = given
      const confinement = await profiles.ofOwner()
      return run(calls, { ...confinement?.turn, allowedTools })
    },
    async close() {
      front.close()
      secure?.close()
      await mock.stop()
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const said = (person: string): NewEvent => ({
  key: 'k',
  lane: 'tavern:c',
  what: { kind: 'message', id: 'm', text: 'Do it.', author: { id: person, name: person, owner: false } },
  replyTo: null,
  source: 'tavern',
})
