// An answer that grows on paper: drafts carry the whole text so far, what was printed cannot be taken back.

export interface GrowingText {
  /** What to print so that this draft stands there. */
  grow(draft: string): string
  /** The same for the final text, which is what counts, with the line ended. */
  finish(text: string): string
  /** The line that is not ended yet; empty: the next character begins one. */
  openLine(): string
}

export function growingText(): GrowingText {
  let printed = ''

  // Not a continuation: the line where it turns off is printed again, so that no word is torn apart; where nothing
  // but space would follow, the last line that says something is, so that it stands at the end.
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
