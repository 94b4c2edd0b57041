// Renders markdown as Telegram takes it: plain text, and entities that say what is bold, code or a link.
import type { MessageEntity } from 'grammy/types'
import { lexer, type Token, type Tokens } from 'marked'

export interface Rendered {
  readonly text: string
  readonly entities: readonly MessageEntity[]
}

/** Telegram allows a hundred; the rest would be refused or ignored. */
const mostEntities = 100

/** The text is never longer than the markdown. Offsets and lengths are in UTF-16 units, as Telegram counts. */
export function renderMarkdown(markdown: string): Rendered {
  const page = createPage()
  blocks(page, lexer(markdown, { gfm: true }), '')
  const { text, entities } = page.done()
  // Nothing but markup, or a strange nesting of it: better shown as it was written than refused as empty or too long.
  if (text === '' || text.length > markdown.length) return { text: markdown.trim(), entities: [] }
  return { text, entities }
}

interface Page {
  write(text: string): void
  /** Marks what `inside` writes. */
  mark(entity: Mark, inside: () => void): void
  done(): Rendered
}

type Mark =
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote' }
  | { readonly type: 'pre'; readonly language?: string }
  | { readonly type: 'text_link'; readonly url: string }

function createPage(): Page {
  let text = ''
  const entities: MessageEntity[] = []
  return {
    write(more) {
      text += more
    },
    mark(mark, inside) {
      const offset = text.length
      inside()
      // Telegram refuses entities around or ending in whitespace.
      const written = text.slice(offset)
      const length = written.trimEnd().length
      const start = offset + (written.length - written.trimStart().length)
      if (offset + length > start)
        entities.push({ ...mark, offset: start, length: offset + length - start } as MessageEntity)
    },
    done() {
      const cut = text.trimEnd()
      const lead = cut.length - cut.trimStart().length
      const kept = entities
        .map(one => ({ ...one, offset: one.offset - lead, length: Math.min(one.length, cut.length - one.offset) }))
        .filter(one => one.length > 0)
        .sort((a, b) => a.offset - b.offset || b.length - a.length)
      return { text: cut.trimStart(), entities: kept.slice(0, mostEntities) }
    },
  }
}

function blocks(page: Page, tokens: readonly Token[], indent: string): void {
  for (const [i, token] of tokens.entries()) {
    block(page, token as Tokens.Generic, indent)
    // As many newlines as the source had, at most two.
    if (i < tokens.length - 1 && token.type !== 'space') page.write(newlinesAfter(token))
  }
}

const newlinesAfter = ({ type, raw }: Token): string => {
  const written = /\n*$/.exec(raw)?.[0].length ?? 0
  return '\n'.repeat(Math.min(2, type === 'list_item' ? Math.max(1, written) : written))
}

function block(page: Page, token: Tokens.Generic, indent: string): void {
  switch (token.type) {
    case 'space':
      return page.write('\n'.repeat(Math.max(0, Math.min(2, token.raw.split('\n').length - 1))))
    case 'heading':
      return page.mark({ type: 'bold' }, () => inline(page, token.tokens ?? []))
    case 'code':
      return page.mark(preOf(token), () => page.write(token.text))
    case 'blockquote':
      return page.mark({ type: 'blockquote' }, () => blocks(page, token.tokens ?? [], indent))
    case 'list':
      return list(page, token as Tokens.List, indent)
    case 'hr':
      return page.write('———')
    case 'table':
      return page.mark({ type: 'pre' }, () => page.write(token.raw.trim()))
    case 'html':
      return page.write(token.raw.trimEnd())
    default:
      return token.tokens ? inline(page, token.tokens) : page.write(plain(token.text ?? token.raw))
  }
}

const preOf = ({ lang }: Tokens.Generic): Mark => {
  const language = /^[\w+#-]{1,30}/.exec(lang ?? '')?.[0]
  return language === undefined ? { type: 'pre' } : { type: 'pre', language }
}

function list(page: Page, { items, ordered, start }: Tokens.List, indent: string): void {
  for (const [i, item] of items.entries()) {
    if (i > 0) page.write('\n')
    const mark = ordered ? `${Number(start || 1) + i}.` : item.task ? (item.checked ? '☑' : '☐') : '•'
    page.write(`${indent}${mark} `)
    for (const [n, token] of item.tokens.entries()) {
      if (token.type === 'checkbox' || token.type === 'space') continue
      if (n > 0 && token.type !== 'text') page.write('\n')
      block(page, token as Tokens.Generic, `${indent}  `)
    }
  }
}

function inline(page: Page, tokens: readonly Token[]): void {
  for (const one of tokens) {
    const token = one as Tokens.Generic
    const within = () => (token.tokens ? inline(page, token.tokens) : page.write(plain(token.text ?? '')))
    switch (token.type) {
      case 'strong':
        page.mark({ type: 'bold' }, within)
        break
      case 'em':
        page.mark({ type: 'italic' }, within)
        break
      case 'del':
        page.mark({ type: 'strikethrough' }, within)
        break
      case 'codespan':
        page.mark({ type: 'code' }, () => page.write(token.text))
        break
      case 'br':
        page.write('\n')
        break
      case 'link':
        link(page, token, within)
        break
      case 'image':
        page.write(token.text || token.href)
        break
      case 'html':
        page.write(token.raw)
        break
      default:
        within()
    }
  }
}

/** Addresses that Telegram makes links of by itself, and those that it refuses, stay text. */
function link(page: Page, token: Tokens.Generic, within: () => void): void {
  const { href, text } = token
  const isUrl = /^(https?|tg|mailto):/i.test(href) && URL.canParse(href)
  if (!isUrl || href === text) return within()
  page.mark({ type: 'text_link', url: href }, within)
}

/** `marked` leaves the five entities of HTML in the text of some tokens. */
const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? '')
const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
