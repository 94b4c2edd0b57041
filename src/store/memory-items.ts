// The list items of memory.md: adding and removing them.

/** A longer text is a note, not something to remember in every turn. */
export const longestItem = 2000
const mostForgotten = 5

/** One line that cannot be read as a heading, a quote or an item of another list. Empty: there is nothing to remember. */
export const asItem = (text: string): string =>
  text
    .replaceAll(/\p{Cc}|\p{Zl}|\p{Zp}/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .replace(/^[\s#>*+=`~-]+/, '')
    .trim()

export const hasItem = (text: string | null, item: string): boolean =>
  text?.split('\n').some(line => line.trimEnd() === `- ${item}`) ?? false

export function withItem(text: string | null, item: string): string {
  if (text === null) return `# Memory\n\n- ${item}\n`
  const body = text === '' || text.endsWith('\n') ? text : `${text}\n`
  // After a heading, a list needs an empty line; after a list, it continues.
  const gap = /^#.*\n$/m.test(body.slice(body.lastIndexOf('\n', body.length - 2) + 1)) ? '\n' : ''
  return `${body}${gap}- ${item}\n`
}

export interface Forgotten {
  readonly text: string
  readonly removed: readonly string[]
}

/**
 * Removes the items that contain these words, with everything that belongs to them. Too many: the words are too common, and all items
 * stay.
 */
export function withoutItems(text: string, words: string): Forgotten | 'too-many' {
  const wanted = words.trim().toLowerCase()
  const removed: string[] = []
  const left: string[] = []
  let goneFrom: number | null = null
  for (const line of text.split('\n')) {
    const indent = line.length - line.trimStart().length
    const isBlank = line.trim() === ''
    if (goneFrom !== null && !isBlank && indent > goneFrom) continue
    goneFrom = null
    const [, item] = /^\s*[-*+] (.*)$/.exec(line) ?? []
    if (item?.toLowerCase().includes(wanted)) {
      removed.push(item.trim())
      goneFrom = indent
    } else left.push(line)
  }
  return removed.length > mostForgotten ? 'too-many' : { text: left.join('\n'), removed }
}
