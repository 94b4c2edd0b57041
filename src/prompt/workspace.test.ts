// Reading the workspace: afresh, within limits, and never throwing.
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import { assemble } from './compose.ts'
import { sectionFiles } from './sections.ts'
import { createWorkspace } from './workspace.ts'

let dir: string
let reported: { file: string; why: string }[]
const emit = (signal: Signal) => {
  if (signal.type === 'workspace-trouble') reported.push({ file: signal.file, why: signal.why })
}
const open = (approved?: (file: string) => string | null | undefined) =>
  createWorkspace({ dir, emit, shippedSkills: join(dir, 'none'), ...(approved && { approved }) })
const put = (file: string, text: string | Buffer) => writeFile(join(dir, file), text)
const putAll = () => Promise.all(sectionFiles.map(({ file }) => put(file, `words of ${file}\n`)))

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'workspace-'))
  reported = []
})
afterEach(() => rm(dir, { recursive: true, force: true }))

describe('the single files', () => {
  test('are read afresh every time', async () => {
    await putAll()
    const workspace = open()
    expect(await workspace.read()).toMatchObject({ soul: 'words of soul.md', memory: 'words of memory.md' })
    const { mtime, atime } = await stat(join(dir, 'soul.md'))
    await put('soul.md', 'WORDS of soul.md\n')
    await utimes(join(dir, 'soul.md'), atime, mtime)
    expect((await workspace.read()).soul).toBe('WORDS of soul.md')
    expect(reported).toEqual([])
  })

  test('changes that are not approved do not reach sections, persona or skills', async () => {
    await putAll()
    const skill = (name: string) => `---\nname: ${name}\ndescription: What ${name} does.\n---\n`
    for (const name of ['tea', 'evil']) {
      await mkdir(join(dir, 'skills', name), { recursive: true })
      await put(`skills/${name}/SKILL.md`, skill('evil'))
    }
    await put('persona.md', '# Identity\n\nEvil.\n')
    const before: Record<string, string> = { 'soul.md': 'calm\n', 'skills/tea/SKILL.md': skill('tea') }
    const workspace = open(file => before[file] ?? null)
    expect(await workspace.read()).toEqual({
      ...{ identity: null, soul: 'calm', agents: null, user: null, memory: null, tools: null },
    })
    expect(await workspace.skills()).toMatch(/tea: What tea does\. \(skills\/tea\/SKILL\.md\)\n$/)
    expect(await workspace.skills()).not.toContain('evil')
    expect(await readFile(join(dir, 'memory.md'), 'utf8')).toBe('words of memory.md\n')
  })

  test('a file that contains only its header counts as empty', async () => {
    await putAll()
    await put('user.md', '\uFEFF# User Context\r\n\r\n')
    await put('tools.md', ' \n\n')
    expect(await open().read()).toMatchObject({ user: null, tools: null, soul: 'words of soul.md' })
    expect(reported).toEqual([])
  })

  test('byte order marks and NULs from a power cut do not reach the prompt', async () => {
    await putAll()
    await put('soul.md', '\uFEFF\r\n\n  Calm.\n')
    await put('memory.md', '- a fact\n\0\0\0\0')
    expect(await open().read()).toMatchObject({ soul: '  Calm.', memory: '- a fact' })
  })

  test('a missing memory.md is created once, with private permissions', async () => {
    await putAll()
    await rm(join(dir, 'memory.md'))
    const workspace = open()
    const both = await Promise.all([workspace.read(), workspace.read()])
    expect(both.map(({ memory }) => memory)).toEqual([null, null])
    expect(await readFile(join(dir, 'memory.md'), 'utf8')).toBe('# Memory\n')
    expect((await stat(join(dir, 'memory.md'))).mode & 0o777).toBe(0o600)
    expect(reported).toEqual([])
  })

  test('a missing file is reported once while it is missing', async () => {
    await putAll()
    await rm(join(dir, 'agents.md'))
    const workspace = open()
    expect((await workspace.read()).agents).toBeNull()
    await workspace.read()
    expect(reported).toHaveLength(1)
    expect(reported[0]).toMatchObject({ file: 'agents.md', why: expect.stringContaining('missing') })
    await put('agents.md', 'back')
    expect((await workspace.read()).agents).toBe('back')
    await rm(join(dir, 'agents.md'))
    await workspace.read()
    expect(reported).toHaveLength(2)
  })

  test('an unreadable file is reported and left out, and the rest is used', async () => {
    await putAll()
    for (const file of ['soul.md', 'user.md', 'tools.md', 'memory.md', 'identity.md']) await rm(join(dir, file))
    await mkdir(join(dir, 'soul.md'))
    await put('user.md', Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]))
    await symlink('tools.md', join(dir, 'tools.md'))
    await symlink('nowhere', join(dir, 'memory.md'))
    execFileSync('mkfifo', [join(dir, 'identity.md')])
    const workspace = open()
    expect(await workspace.read()).toEqual({
      identity: null,
      soul: null,
      agents: 'words of agents.md',
      user: null,
      memory: null,
      tools: null,
    })
    await workspace.read()
    expect(Object.fromEntries(reported.map(({ file, why }) => [file, why]))).toEqual({
      'soul.md': expect.stringContaining('folder'),
      'user.md': expect.stringContaining('UTF-8'),
      'tools.md': expect.stringContaining('circular'),
      'memory.md': expect.stringContaining('dangling'),
      'identity.md': expect.stringContaining('regular file'),
    })
    expect(reported).toHaveLength(5)
  })

  test('a file without read permission is reported and left out', async () => {
    await putAll()
    await chmod(dir, 0o755)
    await chmod(join(dir, 'soul.md'), 0o000)
    expect((await asOrdinaryUser(() => open().read())).soul).toBeNull()
    expect(reported).toEqual([{ file: 'soul.md', why: expect.stringContaining('permission') }])
  })

  test('a missing folder is reported, not thrown', async () => {
    await rm(dir, { recursive: true })
    expect(Object.values(await open().read())).toEqual([null, null, null, null, null, null])
    expect(reported.map(({ file }) => file).sort()).toEqual(sectionFiles.map(({ file }) => file).sort())
  })
})

describe('the persona in one file', () => {
  const persona = [
    '# Persona',
    '',
    '## Identity',
    '',
    'I am Io.',
    '',
    '### Soul',
    '',
    '```md',
    '## Soul',
    '```',
    '',
    '## Soul',
    'Kind.',
    '## Chores',
    'none',
    '# User Context',
    'Ann.',
    '## Home',
    'Oslo.',
    '',
    'Tool Configuration',
    '===',
    'Careful.',
    '',
  ].join('\n')

  test('provides the sections that the single files leave empty', async () => {
    await put('CLAUDE.md', persona)
    await put('user.md', '# User Context\n')
    await put('agents.md', 'rules')
    expect(await open().read()).toEqual({
      identity: 'I am Io.\n\n### Soul\n\n```md\n## Soul\n```',
      soul: 'Kind.',
      agents: 'rules',
      user: 'Ann.\n## Home\nOslo.',
      memory: null,
      tools: 'Careful.',
    })
    expect(reported).toEqual([])
  })

  test('is overridden by a single file that somebody has written', async () => {
    await put('CLAUDE.md', persona)
    await putAll()
    expect(await open().read()).toMatchObject({ identity: 'words of identity.md', user: 'words of user.md' })
  })

  test('is not hidden by the files that bootstrap creates', async () => {
    await put('persona.md', persona)
    const workspace = open()
    expect((await workspace.bootstrap()).loaded).toEqual(['persona.md'])
    expect(await workspace.read()).toMatchObject({
      identity: expect.stringContaining('Io'),
      soul: 'Kind.',
      tools: 'Careful.',
    })
    await put('persona.md', '# Identity\n\nI am Eo.')
    expect(await workspace.read()).toMatchObject({ identity: 'I am Eo.', soul: expect.stringContaining('helpful') })
  })

  test('comes from CLAUDE.md first, and persona.md fills the rest', async () => {
    await putAll()
    for (const file of ['soul.md', 'identity.md']) await rm(join(dir, file))
    await put('CLAUDE.md', '# Identity\none')
    await put('persona.md', '# Identity\ntwo\n# Personality\nthree')
    expect(await open().read()).toMatchObject({ identity: 'one', soul: 'three' })
  })

  test('too deep nesting is reported', async () => {
    await putAll()
    await put('CLAUDE.md', '> '.repeat(20_000))
    expect((await open().read()).soul).toBe('words of soul.md')
    expect(reported).toEqual([{ file: 'CLAUDE.md', why: expect.stringContaining('nested') }])
  })
})

describe('too much text', () => {
  test('memory keeps its end and the others their beginning, at a line, with a note for the agent', async () => {
    await putAll()
    const lines = Array.from({ length: 20_000 }, (_, index) => `- fact ${index}\n`).join('')
    await put('memory.md', lines)
    await put('soul.md', lines)
    const workspace = open()
    const { memory, soul } = await workspace.read()
    expect(memory).toMatch(
      /^\[Only the end of memory\.md is shown here: it has \d+ bytes\.[^\n]*\]\n\n- fact \d+\n.*- fact 19999$/s,
    )
    expect(soul).toMatch(/^- fact 0\n.*\n- fact \d+\n\n\[Only the start of soul\.md [^\n]*\]$/s)
    await put('memory.md', `${lines}- one more\n`)
    expect((await workspace.read()).memory).toMatch(/- one more$/)
    expect(reported.map(({ file }) => file).sort()).toEqual(['memory.md', 'soul.md'])
    expect(reported[0]?.why).toMatch(new RegExp(`${lines.length} bytes.*65536.*shorten`))
  })

  test('a memory.md of 10 GB is not loaded', async () => {
    await putAll()
    await truncate(join(dir, 'memory.md'), 10 * 1024 ** 3)
    const before = process.memoryUsage().rss
    await open().read()
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 ** 2)
    expect(reported).toEqual([{ file: 'memory.md', why: expect.stringContaining('10737418240') }])
  })

  test('no limit is exceeded, no character is split, and the kept text is from the file', async () => {
    const unit = fc.constantFrom('a', '\n', 'é', '\n- ünïcödé\n', '語', '😀', '## Identity\n', ' ', '\r\n')
    const text = fc
      .tuple(fc.array(unit, { minLength: 1, maxLength: 30 }), fc.integer({ min: 0, max: 100_000 }))
      .map(([units, size]) => `x${units.join('').repeat(Math.ceil(size / units.join('').length))}`)
    const files = fc.tuple(text, text, text, text, text, text)
    await fc.assert(
      fc.asyncProperty(files, async texts => {
        await Promise.all(sectionFiles.map(({ file }, index) => put(file, texts[index] ?? '')))
        const sections = await open().read()
        let total = 0
        for (const [index, { key, file }] of sectionFiles.entries()) {
          const shown = sections[key] ?? ''
          total += Buffer.byteLength(shown)
          expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(65_536)
          expect(shown.isWellFormed() && !shown.includes('\uFFFD')).toBe(true)
          const whole = (texts[index] ?? '').trimEnd()
          const kept = shown.replace(
            new RegExp(`^\\[Only [^\\n]*\\]\\n\\n|\\n\\n\\[Only the start of ${file}[^\\n]*\\]$`),
            '',
          )
          expect(key === 'memory' ? whole.endsWith(kept) : whole.startsWith(kept)).toBe(true)
          if (kept !== whole) expect(reported.some(trouble => trouble.file === file)).toBe(true)
        }
        expect(total).toBeLessThanOrEqual(262_144)
      }),
      { numRuns: 150 },
    )
  })

  test('the files share the total limit: small ones stay whole', async () => {
    await putAll()
    for (const file of ['soul.md', 'agents.md', 'user.md', 'memory.md', 'tools.md'])
      await put(file, 'line of text\n'.repeat(5000))
    const sections = await open().read()
    expect(sections.identity).toBe('words of identity.md')
    const total = Object.values(sections).reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
    expect(total).toBeLessThanOrEqual(262_144)
    expect(total).toBeGreaterThan(255_000)
    expect(reported.map(({ file }) => file).sort()).toEqual([
      'agents.md',
      'memory.md',
      'soul.md',
      'tools.md',
      'user.md',
    ])
  })
})

// Feature: discord-claude-gateway, Property 28: State reconstruction after restart
test('the files are the whole state: a restart assembles the same prompt whatever was read before', async () => {
  const names = [...sectionFiles.map(({ file }) => file), 'CLAUDE.md', 'persona.md']
  const text = fc.option(
    fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('# Soul\n', '# Identity\nx\n# Soul\ny')),
  )
  const texts = fc.array(text, { minLength: names.length, maxLength: names.length })
  const write = async (contents: readonly (string | null)[]) => {
    for (const [index, name] of names.entries()) {
      const content = contents[index] ?? null
      if (content === null) await rm(join(dir, name), { force: true })
      else await put(name, content)
    }
  }
  const promptOf = async (workspace: { read: ReturnType<typeof open>['read'] }) =>
    assemble(await workspace.read(), { capabilities: 'here' })
  await fc.assert(
    fc.asyncProperty(texts, texts, fc.nat(names.length - 1), async (earlier, later, kept) => {
      const running = open()
      // One file keeps its length, so that a cache keyed by size would fail.
      const changed = later.map((content, index) =>
        index === kept ? (earlier[index]?.replace(/\w/, '_') ?? null) : content,
      )
      for (const contents of [earlier, changed, earlier]) {
        await write(contents)
        const prompt = await promptOf(running)
        expect(await promptOf(running)).toBe(prompt)
        expect(await promptOf(open())).toBe(prompt)
        const written = contents[1] ?? ''
        if (/^[\w ]*[a-z]\w*$/.test(written)) expect(prompt).toContain(`## Personality\n\n${written}\n\n`)
      }
    }),
    { numRuns: 150 },
  )
})

/** The superuser may read everything, so permissions must be tested as another user. */
const asOrdinaryUser = async <T>(act: () => Promise<T>): Promise<T> => {
  if (process.geteuid?.() !== 0) return act()
  process.seteuid?.(65_534)
  try {
    return await act()
  } finally {
    process.seteuid?.(0)
  }
}
