// The result of a stopped turn, as the gateway formats it: the text so far, and a note in markdown.

export const stoppedNote = 'Stopped.'

/** The text so far, perhaps empty. Null if it is another kind of failure. */
export function textBeforeStop(text: string): string | null {
  if (text === stoppedNote) return ''
  const note = `\n\n*${stoppedNote}*`
  return text.endsWith(note) ? text.slice(0, -note.length) : null
}

/** The whole result for a terminal, without the markdown of the note. */
export function withPlainNote(text: string): string {
  const soFar = textBeforeStop(text)
  return soFar ? `${soFar}\n\n${stoppedNote}` : text
}
