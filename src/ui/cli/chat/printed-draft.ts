// Prints a growing answer: each draft carries the whole text so far, and printed text cannot be taken back.

export interface GrowingText {
  /** What to print so that the output shows this draft. */
  grow(draft: string): string
  /** The same for the final text, which replaces all drafts, with a line end. */
  finish(text: string): string
  /** The unfinished last line. Empty if the next character starts a line. */
  openLine(): string
}

export function growingText(): GrowingText {
  let printed = ''

  // The draft does not continue the printed text: print again from the line where they differ, so that no word is split. If
  // only whitespace would follow, print the last non-empty line again, so that it is at the end.
  const turnOff = (text: string): string => {
    let same = 0
    while (same < text.length && text[same] === printed[same]) same++
    const turn = same === 0 ? 0 : text.lastIndexOf('\n', same - 1) + 1
    const from = Math.min(turn, text.trimEnd().lastIndexOf('\n') + 1)
    const lineEnd = printed === '' || printed.endsWith('\n') ? '' : '\n'
    printed = text
    return lineEnd + text.slice(from)
  }

  const print = (text: string): string => {
    if (!text.startsWith(printed)) return turnOff(text)
    const added = text.slice(printed.length)
    printed = text
    return added
  }

  return {
    grow(draft) {
      // Half a surrogate pair waits for its other half.
      const whole = draft.replace(/[\ud800-\udbff]$/, '')
      return printed.startsWith(whole) ? '' : print(whole)
    },
    finish(text) {
      const onlySpaceTooMuch = printed.startsWith(text) && printed.slice(text.length).trim() === ''
      const rest = onlySpaceTooMuch ? '' : print(text)
      if (printed.endsWith('\n')) return rest
      printed += '\n'
      return `${rest}\n`
    },
    openLine: () => printed.slice(printed.lastIndexOf('\n') + 1),
  }
}
