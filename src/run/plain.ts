// People's words stay words: some CLIs read `@path` as an order to include that file.

/** An invisible joiner behind the sign keeps it from being one; the model reads the same. */
export const withoutReferences = (text: string): string => text.replace(/(^|[^\p{L}\p{N}_.+-])@(?=\S)/gu, '$1@\u2060')
