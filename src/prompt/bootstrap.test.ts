// The first start: what is created, left alone and refused.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Signal } from '../base/signal.ts'
import { createWorkspace } from './workspace.ts'

let home: string
let dir: string
let warnings: string[]
const emit = (signal: Signal) => {
  if (signal.type === 'workspace-trouble') warnings.push(`${signal.file} ${signal.why}`)
}
const shippedSkills = join(import.meta.dirname, '../../templates/skills')
const bootstrap = (where = dir) => createWorkspace({ dir: where, emit, shippedSkills }).bootstrap()
const ours = async () => (await readdir(dir)).filter(name => name.endsWith('.md'))
const text = (file: string) => readFile(join(dir, file), 'utf8')

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'bootstrap-'))
  dir = join(home, 'config')
  warnings = []
})
afterEach(() => rm(home, { recursive: true, force: true }))

describe('without boot.md', () => {
  test('the folder and the six files are created with private permissions', async () => {
    const { loaded, created } = await bootstrap(join(dir))
    expect(loaded).toEqual([])
    expect([...created].sort()).toEqual(['agents.md', 'identity.md', 'memory.md', 'soul.md', 'tools.md', 'user.md'])
    expect((await stat(dir)).mode & 0o777).toBe(0o700)
    for (const file of created) expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600)
    expect(await text('agents.md')).toBe('# Operating Rules\n')
    expect(await text('memory.md')).toBe('# Memory\n')
    expect((await text('soul.md')).length).toBeGreaterThan(100)
    expect(warnings).toEqual([])
  })

  test('existing files stay unchanged, and a second start only loads them', async () => {
    await mkdir(dir)
    await writeFile(join(dir, 'soul.md'), '')
    expect((await bootstrap()).loaded).toEqual(['soul.md'])
    expect(await text('soul.md')).toBe('')
    const again = await bootstrap()
    expect(again.created).toEqual([])
    expect(again.loaded).toHaveLength(6)
  })

  test('two simultaneous starts create each file once', async () => {
    const [one, two] = await Promise.all([bootstrap(), bootstrap()])
    expect([...one.created, ...two.created].sort()).toEqual((await ours()).sort())
  })
})

describe('with boot.md', () => {
  const boot = async (markdown: string) => {
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'boot.md'), markdown)
  }

  // Feature: discord-claude-gateway, Property 27: Bootstrap creates missing files with defaults
  test('each missing file is created with its default and no other is touched', async () => {
    const line = fc.oneof(
      fc.stringMatching(/^[ -"$-~]{1,30}$/).filter(words => /^[\w]/.test(words)),
      fc.constantFrom(
        '# Title',
        '## Other',
        '### Required',
        '- item',
        '',
        '```\n## Required\n- ../x.md\n```',
        '## Cron Jobs',
      ),
    )
    const file = fc.record({
      name: fc.stringMatching(/^[a-z][a-z0-9 _-]{0,8}[a-z0-9]\.md$/).map(name => name.replaceAll(' ', '')),
      list: fc.constantFrom('Required', 'Optional'),
      content: fc.option(fc.array(line, { maxLength: 8 }).map(lines => lines.join('\n'))),
      there: fc.boolean(),
    })
    const files = fc
      .uniqueArray(file, { selector: ({ name }) => name, minLength: 1, maxLength: 6 })
      .filter(all => all.every(({ name }) => name !== 'boot.md' && name !== 'persona.md'))
    await fc.assert(
      fc.asyncProperty(files, fc.constantFrom('\n', '\r\n'), async (all, newline) => {
        await rm(dir, { recursive: true, force: true })
        warnings = []
        const list = (title: string) => [
          `## ${title}`,
          ...all.filter(item => item.list === title).map(({ name }) => `- ${name}`),
          '',
        ]
        const defaults = all.flatMap(({ name, content }) =>
          content === null ? [] : [`## Default: ${name}`, '', content, ''],
        )
        await boot(
          ['# Boot', '', ...list('Required'), ...list('Optional'), ...defaults].join('\n').replaceAll('\n', newline),
        )
        for (const { name, there } of all) if (there) await writeFile(join(dir, name), 'mine')
        const { loaded, created } = await bootstrap()
        expect(warnings).toEqual([])
        expect([...loaded].sort()).toEqual(
          all
            .filter(({ there }) => there)
            .map(({ name }) => name)
            .sort(),
        )
        expect([...created].sort()).toEqual(
          all
            .filter(({ there }) => !there)
            .map(({ name }) => name)
            .sort(),
        )
        for (const { name, there, content } of all) {
          const now = await text(name)
          if (there) expect(now).toBe('mine')
          else if (content === null) expect(now).toMatch(/^# \S/)
          else expect(now).toBe(content.trim() === '' ? '' : `${content.replace(/^\n+/, '').trimEnd()}\n`)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('names may be code or have a comment, and a default may be in a markdown fence', async () => {
    await boot(
      '## Required\n\n- `soul.md`: who I am\n* notes.md for later\n\n## Default: `soul.md`\n\n~~~markdown\n## Required\n- x\n~~~\n',
    )
    expect((await bootstrap()).created).toEqual(['soul.md', 'notes.md'])
    expect(await text('soul.md')).toBe('## Required\n- x\n')
    expect(await text('notes.md')).toBe('# Notes\n')
  })

  test.each(['Instructions', 'Initialization', 'initialisation instructions', 'First run:'])(
    'the instructions for the agent are under "%s", may contain headings, and need no list',
    async heading => {
      await boot(`# Boot\n\n## ${heading}\n\nGreet.\n\n### Then\n- go\n\n## Default: user.md\n\nAnn.\n`)
      const workspace = createWorkspace({ dir, emit, shippedSkills })
      expect((await workspace.bootstrap()).created).toHaveLength(6)
      expect(warnings).toEqual([])
      expect(await workspace.bootInstructions()).toBe('Greet.\n\n### Then\n- go\n')
      expect(await text('user.md')).toBe('Ann.\n')
    },
  )

  test('a boot.md without instructions, with empty ones, or that is invalid has none', async () => {
    const workspace = createWorkspace({ dir, emit, shippedSkills })
    expect(await workspace.bootInstructions()).toBeNull()
    for (const markdown of [
      '## Required\n- soul.md\n',
      '## Instructions\n\n## Required\n- soul.md\n',
      '## Instructions\na\n## First run\nb\n',
    ]) {
      await boot(markdown)
      expect(await workspace.bootInstructions()).toBeNull()
    }
  })

  test('defaults alone keep the usual files', async () => {
    await boot('## Default: user.md\n\nAnn, Oslo.\n')
    expect((await bootstrap()).created).toHaveLength(6)
    expect(await text('user.md')).toBe('Ann, Oslo.\n')
  })

  test.each([
    ['a path upwards', '## Required\n- ../soul.md', '"../soul.md"'],
    ['an absolute path', '## Optional\n- /etc/soul.md', '"/etc/soul.md"'],
    ['a path of another system', '## Optional\n- ..\\soul.md', 'without a path'],
    ['a hidden name', '## Required\n- .md', 'without a path'],
    ['another kind of file', '## Required\n- config.json', 'without a path'],
    ['a default upwards', '## Required\n- soul.md\n## Default: ../../x.md\nhello', '"../../x.md"'],
    ['a default of nothing', '## Required\n- soul.md\n## Default:\nhello', 'without a path'],
    ['an item without a name', '## Required\n- soul.md\n-\n', 'without a path'],
    ['nothing', '# Boot\n\nhello', 'headings'],
    ['empty lists', '## Required\n\nsoul.md', 'lists no file'],
    ['a default that is not listed', '## Required\n- soul.md\n## Default: sole.md\nx', 'sole.md'],
    [
      'two defaults for a file',
      '## Required\n- soul.md\n## Default: soul.md\nx\n## Default: soul.md\ny',
      'two defaults',
    ],
    [
      'too many files',
      `## Required\n${Array.from({ length: 200 }, (_, index) => `- f${index}.md\n`).join('')}`,
      'more than',
    ],
    ['too much', `## Required\n- soul.md\n${'x'.repeat(70_000)}`, 'larger'],
    ['too deep a nesting', `## Required\n${'> '.repeat(20_000)}`, 'nested'],
  ])('%s is refused with a warning and the built-in defaults are used', async (_, markdown, why) => {
    await boot(markdown)
    expect((await bootstrap()).created).toHaveLength(6)
    expect(warnings).toEqual([expect.stringMatching(/^boot\.md .*built-in defaults/s)])
    expect(warnings[0]).toContain(why)
    expect(await readdir(home)).toEqual(['config'])
    expect(await ours()).toHaveLength(7)
  })

  test('a link that leaves the folder is refused, and nothing is written through it', async () => {
    await boot('## Optional\n- notes.md')
    await symlink('../outside.md', join(dir, 'notes.md'))
    expect((await bootstrap()).created).toHaveLength(6)
    await writeFile(join(home, 'outside.md'), 'private')
    await bootstrap()
    expect(warnings).toHaveLength(2)
    for (const warning of warnings) expect(warning).toContain('link')
    expect(await readFile(join(home, 'outside.md'), 'utf8')).toBe('private')
  })

  test('a link inside the folder counts as a file', async () => {
    await boot('## Required\n- notes.md')
    await writeFile(join(dir, 'other.md'), 'x')
    await symlink('other.md', join(dir, 'notes.md'))
    expect((await bootstrap()).loaded).toEqual(['notes.md'])
    expect(warnings).toEqual([])
  })

  test('an unreadable optional file is reported, an unreadable required one ends the start', async () => {
    await boot('## Optional\n- notes.md')
    await mkdir(join(dir, 'notes.md'))
    expect(await bootstrap()).toEqual({ loaded: [], created: [] })
    expect(warnings).toEqual([expect.stringContaining('notes.md is a folder')])
    await boot('## Required\n- notes.md')
    await expect(bootstrap()).rejects.toThrow(/notes\.md in the workspace .* is a folder; move it away/)
  })
})

describe('a folder that cannot be used', () => {
  test('a dangling link in place of a required file is refused with an explanation', async () => {
    await mkdir(dir)
    await symlink('nowhere.md', join(dir, 'soul.md'))
    await expect(bootstrap()).rejects.toThrow(/soul\.md .* dangling link; remove it/)
    expect(await readdir(dir)).not.toContain('nowhere.md')
  })

  test('a file in its place is reported with advice', async () => {
    await writeFile(dir, 'x')
    await expect(bootstrap()).rejects.toThrow(/is not a folder\. Move .* CONFIG_DIR/)
    await expect(bootstrap(join(dir, 'deeper'))).rejects.toThrow(/is not a folder/)
  })

  test('a folder that is not writable is reported with advice', async () => {
    await mkdir(dir)
    await chmod(home, 0o755)
    await chmod(dir, 0o555)
    const failure = asOrdinaryUser(() => bootstrap())
    await expect(failure).rejects.toThrow(/is not writable.*chmod.*CONFIG_DIR/)
    await expect(failure).rejects.toHaveProperty('cause.code', 'EACCES')
    await chmod(home, 0o555)
    await expect(asOrdinaryUser(() => bootstrap(join(home, 'new')))).rejects.toThrow(/is not writable/)
    await chmod(home, 0o755)
    await chmod(dir, 0o755)
  })

  test('a folder that is not writable but complete is fine', async () => {
    await bootstrap()
    await chmod(home, 0o755)
    await chmod(dir, 0o555)
    for (const file of await ours()) await chmod(join(dir, file), 0o444)
    expect((await asOrdinaryUser(() => bootstrap())).loaded).toHaveLength(6)
    await chmod(dir, 0o755)
  })
})

/** The superuser may write everywhere, so permissions must be tested as another user. */
const asOrdinaryUser = async <T>(act: () => Promise<T>): Promise<T> => {
  if (process.geteuid?.() !== 0) return act()
  process.seteuid?.(65_534)
  try {
    return await act()
  } finally {
    process.seteuid?.(0)
  }
}
