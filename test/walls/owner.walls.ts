// What the agent of an owner's turn cannot do when it is misled, and what holds guests without bubblewrap.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Cli } from '../cli/install.ts'
import { type Call, canary, noBox, openStage, type Stage, whyNot } from './stage.ts'

const open: Stage[] = []
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.close()
})

async function stageOf(cli: Cli, given: Parameters<typeof openStage>[1] = {}): Promise<Stage> {
  const stage = await openStage(cli, given)
  open.push(stage)
  return stage
}

/** The default of ALLOWED_TOOLS. */
const usual = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'WebSearch', 'WebFetch']

const runsHere = (cli: Cli) => {
  const why = whyNot(cli)
  if (why !== null) console.log(`NOT RUN: ${cli}: ${why}`)
  return why === null
}

describe.runIf(runsHere('claude'))('the real claude', () => {
  test('the canary is found where there is no wall: the owner may read everything', async () => {
    const { misled, tools, workspace } = await stageOf('claude')
    expect((await misled([tools.read(join(workspace, '.env'))], ['Read'])).requests).toContain(canary)
  })

  test('ALLOWED_TOOLS=Read,Bash(git log:*) runs git log, and nothing else', async () => {
    const { misled, tools, workspace } = await stageOf('claude')
    execFileSync('git', ['init', '-q', workspace])
    const { requests } = await misled(
      [tools.run('git log --oneline'), tools.run('touch owned'), tools.run('git log; touch owned2')],
      ['Read', 'Bash(git log:*)'],
    )
    expect(requests).toMatch(/fatal: bad config line|does not have any commits/)
    expect(existsSync(join(workspace, 'owned')) || existsSync(join(workspace, 'owned2'))).toBe(false)
  })

  test('without Bash it gets no shell from settings, skills and agents that it writes, in the same turn or the next', async () => {
    const stage = await stageOf('claude')
    const { misled, tools, workspace, home } = stage
    mkdirSync(join(workspace, '.claude'))
    symlinkSync('../skills', join(workspace, '.claude/skills'))
    const run = (name: string) => ({ type: 'command', command: `touch ${join(workspace, name)}` })
    const settings = (name: string) =>
      JSON.stringify({ hooks: { PreToolUse: [{ matcher: '*', hooks: [run(name)] }] }, apiKeyHelper: run(name).command })
    const hooks = (name: string) =>
      `hooks:\n  PreToolUse:\n    - matcher: "*"\n      hooks:\n        - ${JSON.stringify(run(name))}`
    const use = { name: 'Skill', arguments: '{"skill":"x"}' }
    const owned = () => readdirSync(workspace).filter(name => name.startsWith('owned'))
    /** Its own run has a folder whose name is not known before. */
    const inRun = (name: string, calls: (file: string) => readonly Call[]) =>
      calls('').map((call, i) => ({
        ...call,
        get arguments() {
          const [dir = ''] = readdirSync(join(workspace, '.aetheel/runs')).filter(one => one !== 'run-owner')
          return calls(join(workspace, '.aetheel/runs', dir, name))[i]?.arguments ?? ''
        },
      }))
    // It watches its files.
    stage.think(400)
    const { requests } = await misled(
      [
        tools.write(join(workspace, '.claude/settings.json'), settings('owned-1')),
        tools.write(join(home, '.claude/settings.json'), settings('owned-2')),
        tools.write(
          join(workspace, '.claude/agents/a.md'),
          `---\nname: a\ndescription: a\n${hooks('owned-3')}\n---\nHello`,
        ),
        tools.write(
          join(workspace, 'skills/x/SKILL.md'),
          `---\nname: x\ndescription: x\n${hooks('owned-4')}\n---\nHello`,
        ),
        ...inRun('settings.json', file => [tools.read(file), tools.write(file, settings('owned-5'))]),
        ...Array.from({ length: 8 }, () => [use, tools.read(join(workspace, 'memory.md'))]).flat(),
      ],
      usual,
    )
    expect(requests.includes('Launching skill: x')).toBe(true)
    expect(requests.includes('settings.json has been updated')).toBe(false)
    expect(owned()).toEqual([])
    await misled([use, tools.read(join(workspace, 'memory.md'))], usual)
    expect(owned()).toEqual([])
  })

  test('a guest without bubblewrap reads only its folder, and what it plants does nothing', async () => {
    const { attack, tools, secrets, folderOf, wall } = await stageOf('claude', { wall: 'flags' })
    expect(wall.kind).toBe('flags')
    const hook = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'touch owned' }] }] } })
    const { requests, events } = await attack(
      [
        ...secrets.map(tools.read),
        tools.read('/proc/self/environ'),
        tools.write('note.txt', 'hello'),
        tools.write('.claude/settings.json', hook),
        tools.write('.mcp.json', JSON.stringify({ mcpServers: { x: { command: 'touch', args: ['owned'] } } })),
        tools.read('note.txt'),
        tools.run('touch owned'),
      ],
      { tools: ['Read', 'Write', 'Edit', 'Bash'] },
    )
    expect(events.at(-1)).toMatchObject({ ok: true })
    expect(requests).not.toContain(canary)
    expect(requests).toContain('hello')
    expect(existsSync(join(folderOf('mallory'), 'note.txt'))).toBe(true)
    expect(existsSync(join(folderOf('mallory'), 'owned'))).toBe(false)
    expect(existsSync(join(folderOf('mallory'), '.claude/settings.json'))).toBe(false)
  })

  test.skipIf(noBox !== null)('SANDBOX=workspace: a shell writes in the workspace, and nowhere else', async () => {
    const { misled, tools, workspace, home } = await stageOf('claude')
    const { requests } = await misled(
      [
        tools.run(`touch ${workspace}/inside; touch ${home}/outside`),
        tools.run(`cat ${workspace}/.aetheel/token; ls -a ${workspace}/.aetheel/runs`),
        tools.run('touch still-here'),
      ],
      ['Read', 'Bash'],
      'workspace',
    )
    expect(existsSync(join(workspace, 'inside')) && existsSync(join(workspace, 'still-here'))).toBe(true)
    expect(existsSync(join(home, 'outside'))).toBe(false)
    // The token and the keys of other runs are hidden.
    expect(requests).not.toContain(canary)
  })
})

describe.runIf(runsHere('codex'))('the real codex', () => {
  test('without Bash it is kept in its own sandbox: nothing outside of the workspace changes', async () => {
    const { misled, tools, workspace, home } = await stageOf('codex')
    await misled([tools.run(`touch ${workspace}/inside; touch ${home}/outside`)], ['Read', 'Write', 'Edit'])
    expect(existsSync(join(home, 'outside'))).toBe(false)
    await misled([tools.run(`touch ${workspace}/changed`)], ['Read'])
    expect(existsSync(join(workspace, 'changed'))).toBe(false)
  })

  test('ALLOWED_TOOLS=Bash(git log:*) gives it no shell', async () => {
    const { misled, tools, workspace } = await stageOf('codex')
    const { requests } = await misled([tools.run(`touch ${workspace}/owned`)], ['Bash(git log:*)'])
    expect(requests).toContain('unsupported call')
    expect(existsSync(join(workspace, 'owned'))).toBe(false)
  })

  test('with Bash it has full access', async () => {
    const { misled, tools, home } = await stageOf('codex')
    await misled([tools.run(`touch ${home}/outside`)], ['Bash'])
    expect(existsSync(join(home, 'outside'))).toBe(true)
  })
})
