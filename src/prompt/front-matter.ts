// The lines between two `---` at the head of a markdown file: plain `key: value` pairs, or YAML.

export type FrontMatter =
  | { readonly ok: true; readonly values: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly why: string }

/** YAML is 13 MB and 100 ms, and nearly everybody writes plain lines: it is loaded for the others alone. */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  const [, block] = /^\ufeff?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? []
  if (block === undefined)
    return { ok: false, why: 'has no front matter: begin it with ---, name: and description:, ---' }
  const plain = plainValues(block)
  if (plain) return { ok: true, values: plain }
  const { parse } = await import('yaml')
  try {
    const values: unknown = parse(block, { maxAliasCount: 0, logLevel: 'silent' })
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      return { ok: true, values: { ...values } }
    return { ok: false, why: 'has a front matter that is not a list of key: value' }
  } catch (error) {
    const [first = ''] = String(error instanceof Error ? error.message : error).split('\n')
    return { ok: false, why: `has a front matter that is not YAML (${first.slice(0, 120)})` }
  }
}

/** Null: there is more to it than plain text, which YAML must read. */
function plainValues(block: string): Readonly<Record<string, string>> | null {
  const values: Record<string, string> = Object.create(null)
  for (const line of block.split(/\r?\n/)) {
    if (line.trim() === '') continue
    const [, key, value] = /^([A-Za-z][\w-]*):[ \t]+([^\s"'[\]{}&*!|>%@`#?:,-].*?)[ \t]*$/.exec(line) ?? []
    if (key === undefined || value === undefined || key in values || /: |:$| #/.test(value)) return null
    // What YAML would take for something other than text.
    if (/^(?:[-+.\d].*|true|false|null|yes|no|on|off|~)$/i.test(value)) return null
    values[key] = value
  }
  return values
}
