// Splits markdown into blocks and recognizes headings. Lines in code fences are not headings.

export type Block =
  | { readonly type: 'heading'; readonly depth: number; readonly title: string; readonly raw: string }
  | { readonly type: 'code'; readonly language: string; readonly text: string; readonly raw: string }
  | { readonly type: 'other'; readonly raw: string }

/** The parser takes time in proportion to the square of the depth, which no file that people write comes near. */
const tooDeep = /^(?:[ \t]{0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){21}/m

/** Null: nested too deeply. The parser is loaded on first use, because most workspaces never need it. */
export const outline = async (markdown: string): Promise<readonly Block[] | null> => {
  if (tooDeep.test(markdown)) return null
  const { Lexer } = await import('marked')
  try {
    return new Lexer().blockTokens(markdown.replace(/\r\n|\r/g, '\n')).map(token => {
      const { raw } = token
      if (token.type === 'heading') return { type: 'heading', depth: token.depth, title: token.text, raw }
      if (token.type === 'code') return { type: 'code', language: token.lang ?? '', text: token.text, raw }
      return { type: 'other', raw }
    })
  } catch (error) {
    // Thousands of nested quotes exhaust the parser's stack.
    if (error instanceof RangeError) return null
    throw error
  }
}
