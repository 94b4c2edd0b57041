// boot.md: which files the workspace must and may have, and their initial content. docs/workspace.md describes the format.
import { type Block, outline } from './outline.ts'
import { sectionFiles } from './sections.ts'

export interface BootPlan {
  readonly required: readonly string[]
  readonly optional: readonly string[]
  readonly contentOf: (file: string) => string
  /** What the agent should do on the first start; null: nothing. */
  readonly instructions: string | null
}

type BootFile =
  | { readonly ok: true; readonly plan: BootPlan }
  /** `why` says what to do. */
  | { readonly ok: false; readonly why: string }

const mostFiles = 100

export const builtInPlan: BootPlan = {
  required: sectionFiles.filter(({ required }) => required).map(({ file }) => file),
  optional: sectionFiles.filter(({ required }) => !required).map(({ file }) => file),
  contentOf: file => sectionFiles.find(section => section.file === file)?.starter ?? titleOf(file),
  instructions: null,
}

export const readBootFile = async (markdown: string): Promise<BootFile> => {
  const blocks = await outline(markdown)
  if (blocks === null) return refuse('is nested too deeply to be read')
  const parts = partsOf(blocks)
  if (parts.length === 0)
    return refuse('has none of the headings "## Required", "## Optional", "## Default: NAME.md", "## Instructions"')

  const lists = { required: new Set<string>(), optional: new Set<string>() }
  const defaults = new Map<string, string>()
  const instructions = parts.flatMap(part => (part.type === 'instructions' ? [contentIn(part.blocks)] : []))
  if (instructions.length > 1) return refuse('has two headings for instructions; keep one')
  for (const part of parts) {
    if (part.type === 'instructions') continue
    const names = part.type === 'default' ? [part.file] : namesIn(part.blocks)
    const bad = names.find(name => !isFileName(name))
    if (bad !== undefined) {
      return refuse(
        `names ${JSON.stringify(bad.slice(0, 80))}; a name is that of an .md file in this folder, without a path`,
      )
    }
    if (part.type !== 'default') for (const name of names) lists[part.type].add(name)
    else if (defaults.has(part.file)) return refuse(`has two defaults for ${part.file}; keep one`)
    else defaults.set(part.file, contentIn(part.blocks))
  }

  // Defaults without lists only change the initial content of the usual files.
  const listed = lists.required.size + lists.optional.size > 0
  if (!listed && parts.some(({ type }) => type === 'required' || type === 'optional'))
    return refuse('lists no file; write "- soul.md" and the like')
  const required = listed ? [...lists.required] : builtInPlan.required
  const optional = listed ? [...lists.optional].filter(name => !lists.required.has(name)) : builtInPlan.optional
  if (required.length + optional.length > mostFiles) return refuse(`lists more than ${mostFiles} files`)
  const stray = [...defaults.keys()].find(name => !required.includes(name) && !optional.includes(name))
  if (stray !== undefined) return refuse(`has a default for ${stray}, which it does not list`)
  return {
    ok: true,
    plan: {
      ...{ required, optional, contentOf: file => defaults.get(file) ?? builtInPlan.contentOf(file) },
      instructions: instructions[0] || null,
    },
  }
}

const refuse = (why: string): BootFile => ({ ok: false, why })

type Part =
  | { readonly type: 'required' | 'optional' | 'instructions'; readonly blocks: Block[] }
  | { readonly type: 'default'; readonly file: string; readonly blocks: Block[] }

/** Other headings end a list, but are part of a text, which continues up to the next heading of ours. */
const partsOf = (blocks: readonly Block[]): readonly Part[] => {
  const parts: Part[] = []
  let open: Part | null = null
  for (const block of blocks) {
    const part = block.type === 'heading' && block.depth === 2 ? partNamed(block.title) : null
    if (part !== null) {
      parts.push(part)
      open = part
    } else if (block.type === 'heading' && open?.type !== 'default' && open?.type !== 'instructions') open = null
    else open?.blocks.push(block)
  }
  return parts
}

const partNamed = (title: string): Part | null => {
  if (/^required(?: files)?:?$/i.test(title)) return { type: 'required', blocks: [] }
  if (/^optional(?: files)?:?$/i.test(title)) return { type: 'optional', blocks: [] }
  if (/^(?:instructions|initiali[sz]ation(?: instructions)?|first run):?$/i.test(title))
    return { type: 'instructions', blocks: [] }
  const file = /^default:\s*`?([^`]*)`?$/i.exec(title)?.[1]
  return file === undefined ? null : { type: 'default', file, blocks: [] }
}

/** The first word of each list item; the rest is a comment. Code blocks are examples. */
const namesIn = (blocks: readonly Block[]): readonly string[] =>
  blocks
    .filter(({ type }) => type === 'other')
    .flatMap(({ raw }) => raw.split('\n'))
    .flatMap(line => {
      const item = /^\s*[-*+](?:\s+(.*))?$/.exec(line)
      return item === null ? [] : [/^`([^`]*)`/.exec(item[1] ?? '')?.[1] ?? item[1]?.split(/[\s:]/, 1)[0] ?? '']
    })

const isFileName = (name: string): boolean => name.length <= 100 && /^[^\s./\\:][^/\\:\p{Cc}]*\.md$/u.test(name)

/** A default that is a single markdown fence is unwrapped, so that it may contain headings of ours. */
const contentIn = (blocks: readonly Block[]): string => {
  const filled = blocks.filter(({ raw }) => raw.trim() !== '')
  const only = filled.length === 1 ? filled[0] : undefined
  const fenced = only?.type === 'code' && /^(?:markdown|md)$/i.test(only.language)
  const content = (fenced ? only.text : blocks.map(({ raw }) => raw).join('')).replace(/^\s*\n/, '').trimEnd()
  return content === '' ? '' : `${content}\n`
}

const titleOf = (file: string): string => {
  const words = file.replace(/\.md$/, '').replaceAll(/[-_]+/g, ' ')
  return `# ${words.charAt(0).toUpperCase()}${words.slice(1)}\n`
}
