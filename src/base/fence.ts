// Recognizes code fences in markdown, line by line.

export interface Fence {
  /** The backticks or tildes. */
  readonly marks: string
  /** The line as it was written. */
  readonly line: string
}

/** A line that starts with a fence, indented by at most three spaces. */
const fenceLine = /^ {0,3}(`{3,}|~{3,})([^\n]*)/

/**
 * Returns the block that is open after the line, or null. `open` is the block that was open before it. An opening fence may be followed by
 * an info string; a closing fence may be followed by nothing.
 */
export function fenceAfter(line: string, open: Fence | null): Fence | null {
  const [, marks, rest = ''] = fenceLine.exec(line) ?? []
  if (marks === undefined) return open
  if (open !== null) return marks.startsWith(open.marks) && rest.trim() === '' ? null : open
  return marks.startsWith('`') && rest.includes('`') ? null : { marks, line }
}
