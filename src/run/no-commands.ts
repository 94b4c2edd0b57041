// People's words stay words: some CLIs take a sign at the beginning of a message for a command of theirs.

/** An invisible joiner before the sign keeps it from being one; the model reads the same. */
export const withoutCommands = (text: string): string => text.replace(/^(\s*)([/$])/, '$1\u2060$2')
