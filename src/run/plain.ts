// Keeps messages plain text: some CLIs take `@path` as an instruction to include that file, or a leading `/` or `$` as a command.

/** An invisible word joiner after the `@` prevents that; the model reads the same text. */
export const withoutReferences = (text: string): string => text.replace(/(^|[^\p{L}\p{N}_.+-])@(?=\S)/gu, '$1@\u2060')

/** An invisible word joiner before the sign prevents that; the model reads the same text. */
export const withoutCommands = (text: string): string => text.replace(/^(\s*)([/$])/, '$1\u2060$2')
