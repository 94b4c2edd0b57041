// What Slack accepts as blocks.
import { SlackRefusal } from './refusal.ts'

type Fields = Readonly<Record<string, unknown>>

const isText = (value: unknown, most: number): boolean => {
  const { type, text } = (value ?? {}) as Fields
  return (type === 'plain_text' || type === 'mrkdwn') && typeof text === 'string' && text !== '' && text.length <= most
}

const isButton = (value: unknown): boolean => {
  const { type, action_id, text, value: own = '', style } = (value ?? {}) as Fields
  return (
    type === 'button' &&
    (style === undefined || style === 'primary' || style === 'danger') &&
    typeof action_id === 'string' &&
    action_id.length <= 255 &&
    isText(text, 75) &&
    (text as Fields).type === 'plain_text' &&
    typeof own === 'string' &&
    own.length <= 2000
  )
}

const list = (value: unknown, most: number): readonly unknown[] | null =>
  Array.isArray(value) && value.length > 0 && value.length <= most ? value : null

const checks: Readonly<Record<string, (block: Fields) => boolean>> = {
  markdown: ({ text }) => typeof text === 'string' && text !== '',
  section: ({ text }) => isText(text, 3000),
  context: ({ elements }) => list(elements, 10)?.every(one => isText(one, 3000)) ?? false,
  actions({ elements }) {
    const ids = (list(elements, 25) ?? []).map(one => (one as Fields).action_id)
    return ids.length > 0 && new Set(ids).size === ids.length && (elements as unknown[]).every(isButton)
  },
  divider: () => true,
}

export function checkBlocks(given: unknown): Fields[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) throw new SlackRefusal('invalid_blocks_format')
  if (given.length > 50) throw new SlackRefusal('invalid_blocks')
  const blocks = given as Fields[]
  for (const block of blocks) if (!checks[String(block.type)]?.(block)) throw new SlackRefusal('invalid_blocks')
  const markdown = blocks
    .filter(({ type }) => type === 'markdown')
    .reduce((sum, { text }) => sum + String(text).length, 0)
  if (markdown > 12_000) throw new SlackRefusal('msg_blocks_too_long')
  return blocks
}

/** What Slack accepts as a dialog with one field. */
export function checkView(given: unknown): { readonly callback: string; readonly metadata: string } {
  const { type, callback_id = '', private_metadata = '', title, submit, close, blocks } = (given ?? {}) as Fields
  const [input] = Array.isArray(blocks) ? (blocks as Fields[]) : []
  const element = (input?.element ?? {}) as Fields
  const isRight =
    type === 'modal' &&
    [title, submit, close].every(one => isText(one, 24) && (one as Fields).type === 'plain_text') &&
    String(callback_id).length <= 255 &&
    String(private_metadata).length <= 3000 &&
    input?.type === 'input' &&
    isText(input.label, 2000) &&
    element.type === 'plain_text_input' &&
    Number(element.max_length ?? 1) <= 3000
  if (!isRight) throw new SlackRefusal('invalid_arguments')
  return { callback: String(callback_id), metadata: String(private_metadata) }
}
