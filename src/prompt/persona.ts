// The persona in one file, with the headings Identity, Soul (or Personality), User Context and Tool Configuration.
import { outline } from './outline.ts'
import type { SectionKey } from './sections.ts'

/** The first file with a heading wins. */
export const personaFiles: readonly string[] = ['CLAUDE.md', 'persona.md']

export type Persona = ReadonlyMap<SectionKey, string>

const headings: ReadonlyMap<string, SectionKey> = new Map([
  ['identity', 'identity'],
  ['soul', 'soul'],
  ['personality', 'soul'],
  ['user context', 'user'],
  ['tool configuration', 'tools'],
])

/** A section ends at the next heading of ours, or at any heading of the same or a higher level. Null: cannot be parsed. */
export const readPersona = async (markdown: string): Promise<Persona | null> => {
  const blocks = await outline(markdown)
  if (blocks === null) return null
  const parts = new Map<SectionKey, string>()
  let open: { key: SectionKey; depth: number } | null = null
  for (const block of blocks) {
    if (block.type === 'heading') {
      const key = block.depth <= 2 ? headings.get(plain(block.title)) : undefined
      if (key !== undefined) {
        open = { key, depth: block.depth }
        continue
      }
      if (open !== null && block.depth <= open.depth) open = null
    }
    if (open !== null) parts.set(open.key, (parts.get(open.key) ?? '') + block.raw)
  }
  for (const [key, text] of parts) {
    const content = text.replace(/^\s*\n/, '').trimEnd()
    if (content === '') parts.delete(key)
    else parts.set(key, content)
  }
  return parts
}

const plain = (title: string): string =>
  title
    .replace(/[*_`:]/g, '')
    .trim()
    .toLowerCase()
