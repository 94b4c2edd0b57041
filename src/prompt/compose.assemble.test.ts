// The system prompt: its order, its format, and that its headers can be parsed back whatever the files contain.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { capabilities, type Surroundings } from './capabilities.ts'
import { assemble, parseSections } from './compose.ts'
import { noSections, type Sections, sectionFiles } from './sections.ts'

const names = [...sectionFiles.map(({ name }) => name), 'Skills']

// Text that imitates our headers in every way that markdown and line ends allow.
const headerLike = fc
  .tuple(
    fc.constantFrom('', ' ', '  ', '   ', '\t', '> ', '- '),
    fc.constantFrom('##', '#', '###', ''),
    fc.constantFrom(' ', '  ', '\t', '\u00a0', ''),
    fc.constantFrom(...names, ...names.map(name => name.toLowerCase()), 'User  Context', 'Identity!'),
    fc.constantFrom('', ' ', ' ##', ' #  ', '\n---', '\n-', '\r\n  ---  ', '\n==='),
  )
  .map(parts => parts.join(''))
const lineEnd = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\u2028', '\u2029')
const piece = fc.oneof(
  headerLike,
  lineEnd,
  fc.constantFrom('```', '~~~md', '    ', '<!--'),
  fc.string({ unit: 'binary' }),
)
const content = fc.oneof(
  fc.string(),
  fc.array(piece, { maxLength: 12 }).map(parts => parts.join('')),
  fc.array(headerLike, { maxLength: 6 }).map(lines => lines.join('\n')),
)
const sectionsOf = (value: fc.Arbitrary<string | null>): fc.Arbitrary<Sections> =>
  fc.record({ identity: value, soul: value, agents: value, user: value, memory: value, tools: value })
const anySections = sectionsOf(fc.oneof(content, fc.constant(null), fc.constant(''), fc.constant(' \n\t')))

const filledNames = (sections: Sections) =>
  sectionFiles.filter(({ key }) => (sections[key] ?? '').trim() !== '').map(({ name }) => name)

/** An independent check for our headers: by lines, without the regular expressions of the product. */
const headersIn = (prompt: string): string[] => {
  const lines = prompt.split(/\r\n|[\n\r\u2028\u2029]/)
  return lines.flatMap((line, index) => {
    const text = line.trim().replace(/\s+/g, ' ')
    const underline = lines[index + 1]?.trim() ?? ''
    const title = text.startsWith('## ') ? text.slice(3).replace(/ ?#+$/, '') : /^-+$/.test(underline) ? text : null
    const name = names.find(known => known.toLowerCase() === title?.toLowerCase())
    return name === undefined ? [] : [name]
  })
}

describe('properties of the system prompt', () => {
  // Feature: discord-claude-gateway, Property 19: System prompt assembly with section headers and ordering
  test('sections are under their headers, in order, after the paragraph about memory.md', () => {
    const plain = fc.string({ minLength: 1 }).filter(text => text.trim() !== '' && headersIn(text).length === 0)
    fc.assert(
      fc.property(sectionsOf(fc.option(plain)), fc.string(), (sections, said) => {
        const prompt = assemble(sections, { capabilities: said })
        let from = 0
        for (const [key, name] of [
          ['identity', 'Identity'],
          ['soul', 'Personality'],
          ['agents', 'Operating Rules'],
          ['user', 'User Context'],
          ['memory', 'Long-Term Memory'],
          ['tools', 'Tool Configuration'],
        ] as const) {
          if (sections[key] === null) continue
          const at = prompt.indexOf(`## ${name}\n\n${sections[key]}\n\n`, from)
          expect(at).toBeGreaterThanOrEqual(from)
          if (from === 0) {
            expect(prompt.slice(0, at)).toContain('memory.md')
            expect(prompt.slice(0, at)).toContain('Write tool')
          }
          from = at + 1
        }
      }),
      { numRuns: 300 },
    )
  })

  // Feature: discord-claude-gateway, Property 20: Missing or empty configs are omitted from system prompt
  test('missing and empty sections have no header, and nothing else looks like one', () => {
    fc.assert(
      fc.property(anySections, content, (sections, said) => {
        expect(headersIn(assemble(sections, { capabilities: said }))).toEqual(filledNames(sections))
      }),
      { numRuns: 1000 },
    )
  })

  // Feature: discord-claude-gateway, Property 21: System prompt assembly round-trip
  test('reading the prompt back gives the sections that went in', () => {
    fc.assert(
      fc.property(anySections, content, (sections, said) => {
        const prompt = assemble(sections, { capabilities: said })
        const parsed = parseSections(prompt)
        const found = sectionFiles.filter(({ key }) => parsed[key] !== null).map(({ name }) => name)
        expect(found).toEqual(filledNames(sections))
        expect(headersIn(prompt)).toEqual(found)
        for (const { key, name } of sectionFiles) {
          const went = sections[key]
          if (!filledNames(sections).includes(name)) expect(parsed[key]).toBeNull()
          else if (went !== null && headersIn(went).length === 0) expect(parsed[key]).toBe(went)
          else
            expect(parsed[key]?.replaceAll('#', '').replaceAll(' ', '')).toBe(
              went?.replaceAll('#', '').replaceAll(' ', ''),
            )
        }
        expect(assemble(parsed, { capabilities: said })).toBe(prompt)
      }),
      { numRuns: 1000 },
    )
  })
})

test.each([
  ['## Identity', '### Identity'],
  ['   ## Identity ##  ', '   ### Identity ##  '],
  ['```\n## User Context\r\n```', '```\n### User Context\r\n```'],
  ['Identity\n---', '### Identity\n---'],
  ['### Identity', '### Identity'],
  ['## Identity card', '## Identity card'],
  ['# Identity', '# Identity'],
])('a line of a file never passes for a header of ours: %j', (line, shown) => {
  const prompt = assemble({ ...noSections, memory: `before\n\n${line}\n\nafter` }, { capabilities: '' })
  expect(parseSections(prompt)).toEqual({ ...noSections, memory: `before\n\n${shown}\n\nafter` })
})

test('hostile repetitions cost no time', () => {
  const shapes = [' ', '#', '-', '## Identity ', '\n', '## ', 'Identity\n', '\t#'].map(unit =>
    unit.repeat(65_536 / unit.length),
  )
  const hostile = [
    ...shapes,
    `## Identity${' '.repeat(65_000)}x`,
    `## Identity ${'#'.repeat(65_000)}x`,
    `##${' '.repeat(65_000)}x`,
  ]
  for (const text of hostile) assemble({ ...noSections, memory: `${text}x` }, { capabilities: '' })
})

describe('our own text', () => {
  const bare = (configDir: string, allowedTools: string[]) =>
    assemble(noSections, {
      capabilities: capabilities({
        configDir,
        allowedTools,
        gateway: { folder: 'ipc/calls/0123456789abcdef0123456789abcdef' },
      }),
    })

  test('stay under 8 kB, however long the path and the tool list', () => {
    expect(Buffer.byteLength(bare('/home/me/config', ['Read', 'Write']))).toBeLessThan(4000)
    const many = Array.from({ length: 2000 }, (_, index) => `mcp__server__tool_${index}`)
    expect(Buffer.byteLength(bare(`/${'d'.repeat(4000)}`, many))).toBeLessThan(8000)
    expect(Buffer.byteLength(bare('/c', ['x'.repeat(100_000)]))).toBeLessThan(8000)
  })

  test('name the tools, the folder and each file', () => {
    const text = capabilities({ configDir: '/home/me/config', allowedTools: ['Read', 'WebSearch'], gateway: 'mcp' })
    for (const word of ['Read, WebSearch', '/home/me/config', ...sectionFiles.map(({ file }) => file)])
      expect(text).toContain(word)
    expect(capabilities({ configDir: '/c', allowedTools: [], gateway: null })).toContain('no tools')
  })

  test('explain how this backend calls the gateway', () => {
    const said = (gateway: Surroundings['gateway']) =>
      capabilities({ configDir: '/c', allowedTools: ['Read'], gateway })
    expect(said('mcp')).toContain('MCP server aetheel')
    expect(said({ folder: 'ipc/calls/k' })).toContain('into ipc/calls/k')
    expect(said(null)).toContain('ipc/outbound')
  })
})

test('for guests, nothing that the agent knows about the owner is in it', () => {
  const sections = { ...noSections, soul: 'calm', user: 'USER-CANARY', memory: 'MEMORY-CANARY' }
  const prompt = assemble(sections, { capabilities: 'can', withoutMemory: true })
  expect(prompt).toContain('calm')
  expect(prompt).not.toMatch(/CANARY|memory\.md/)
  expect(assemble(sections, { capabilities: 'can' })).toMatch(/USER-CANARY[\s\S]*MEMORY-CANARY/)
})
