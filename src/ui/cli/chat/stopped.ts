// The end of a turn that was stopped, as the gateway words it: what was said until then, and a note in markdown.

export const stoppedNote = 'Stopped.'

/** What had been said, perhaps nothing; null: a failure of another kind. */
export function saidUntilStopped(text: string): string | null {
  if (text === stoppedNote) return ''
  const note = `\n\n*${stoppedNote}*`
  return text.endsWith(note) ? text.slice(0, -note.length) : null
}

/** The whole of it for a terminal, without the markdown of the note. */
export function withPlainNote(text: string): string {
  const said = saidUntilStopped(text)
  return said ? `${said}\n\n${stoppedNote}` : text
}
