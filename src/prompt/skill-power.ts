// What the front matter of a skill has besides its description: CLIs run the hooks in it, and give it the tools that it names.

const harmless = new Set([
  ...['name', 'description', 'license', 'version', 'author', 'tags', 'metadata', 'compatibility', 'homepage'],
  ...['when_to_use', 'argument-hint', 'disable-model-invocation', 'user-invocable'],
])
/** All that any YAML parser may take for the end of a line. */
const lineEnd = /\r\n|[\n\r\u0085\u2028\u2029]/

/**
 * To be compared with that of an earlier version. It does not parse YAML, since no two parsers agree on everything: whatever is not
 * plainly one of the harmless entries counts.
 */
export function powerInSkill(text: string): string {
  const [first = '', ...rest] = text.replace(/^[\ufeff\s]+/, '').split(lineEnd)
  if (!first.startsWith('---')) return ''
  const end = rest.findIndex(line => line.startsWith('---'))
  const found: string[] = first.trim() === '---' ? [] : [first]
  let isHarmless = false
  for (const line of end < 0 ? rest : rest.slice(0, end)) {
    if (/^\s*(?:#|$)/.test(line)) continue
    // A line that is indented, or begins with a dash, belongs to the entry above it.
    if (!/^[\s-]/.test(line)) isHarmless = harmless.has(/^([\w-]+):(?:\s|$)/.exec(line)?.[1] ?? '')
    if (!isHarmless) found.push(line)
  }
  return found.join('\n')
}
