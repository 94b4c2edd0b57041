// Shows a text exactly: for commands, paths and diffs that people decide about.

/**
 * Controls, formats (bidirectional, zero-width, tags), halves of characters, private and unassigned ones; all separators; what fonts must not
 * draw (fillers, variation selectors); the blank Braille pattern. Space, tab and line feed are what they look like.
 */
const unseen = /(?![ \t\n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Invisible and misleading characters become `⟨U+202E⟩`; everything else stays as it is. */
export const visible = (text: string): string =>
  text.replace(unseen, char => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
