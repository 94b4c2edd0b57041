// Discord's validation of a message body.
import { type Form, openForm, refusal } from './refusal.ts'
import { type Json, type MessageState, messageFlags } from './state.ts'

export interface Upload {
  readonly field: string
  readonly name: string
  readonly type: string | null
  readonly bytes: Buffer
}

export const asList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
export const asJson = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}

const checkAllowedMentions = (form: Form, value: unknown): void => {
  const rule = asJson(value)
  const parse = asList(rule.parse) as unknown[]
  parse.forEach((kind, at) => {
    if (['users', 'roles', 'everyone'].includes(String(kind))) return
    form.add(
      `allowed_mentions.parse.${at}`,
      'BASE_TYPE_CHOICES',
      "Value must be one of {'users', 'everyone', 'roles'}.",
    )
  })
  for (const kind of ['users', 'roles'] as const) {
    const ids = asList(rule[kind])
    form.count(`allowed_mentions.${kind}`, ids, 100)
    if (parse.includes(kind) && ids.length > 0) {
      form.add(
        'allowed_mentions',
        'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE',
        `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`,
      )
    }
  }
}

const checkEmbeds = (form: Form, embeds: readonly Json[]): void => {
  form.count('embeds', embeds, 10)
  let total = 0
  const text = (path: string, value: unknown, most: number): void => {
    if (value === undefined || value === null) return
    form.length(path, value, 0, most)
    total += [...String(value)].length
  }
  embeds.forEach((embed, at) => {
    text(`embeds.${at}.title`, embed.title, 256)
    text(`embeds.${at}.description`, embed.description, 4096)
    text(`embeds.${at}.footer.text`, asJson(embed.footer).text, 2048)
    text(`embeds.${at}.author.name`, asJson(embed.author).name, 256)
    const fields = asList(embed.fields)
    form.count(`embeds.${at}.fields`, fields, 25)
    fields.forEach((field, nth) => {
      text(`embeds.${at}.fields.${nth}.name`, field.name, 256)
      text(`embeds.${at}.fields.${nth}.value`, field.value, 1024)
    })
  })
  if (total > 6000) form.add('embeds', 'MAX_EMBED_SIZE_EXCEEDED', 'Embed size exceeds maximum size of 6000')
}

const checkButton = (form: Form, path: string, button: Json, seen: Set<string>): void => {
  const style = button.style
  if (typeof style !== 'number' || style < 1 || style > 6) {
    form.add(`${path}.style`, 'BASE_TYPE_CHOICES', 'Value must be one of {1, 2, 3, 4, 5, 6}.')
  }
  if (button.label !== undefined) form.length(`${path}.label`, button.label, 0, 80)
  if (button.label === undefined && button.emoji === undefined && style !== 6) {
    form.add(path, 'BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED', 'A button must have a label or an emoji')
  }
  if (style === 5) {
    form.length(`${path}.url`, button.url, 1, 512)
    return
  }
  form.length(`${path}.custom_id`, button.custom_id, 1, 100)
  const id = String(button.custom_id)
  if (seen.has(id)) {
    form.add(`${path}.custom_id`, 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
  }
  seen.add(id)
}

const checkComponents = (form: Form, components: readonly Json[], v2: boolean): void => {
  const seen = new Set<string>()
  let total = 0
  const walk = (list: readonly Json[], path: string): void => {
    list.forEach((component, at) => {
      total++
      const here = `${path}.${at}`
      const inner = asList(component.components)
      if (component.type === 2) checkButton(form, here, component, seen)
      if (component.type === 1) {
        form.count(`${here}.components`, inner, 5)
        if (inner.length === 0) {
          form.add(`${here}.components`, 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
        }
      } else if (!v2 && path === 'components') {
        form.add(`${here}.type`, 'UNION_TYPE_CHOICES', 'Value of field "type" must be one of (1,).')
      }
      walk(inner, `${here}.components`)
    })
  }
  if (!v2) form.count('components', components, 5)
  walk(components, 'components')
  if (v2 && total > 40) form.add('components', 'BASE_TYPE_MAX_LENGTH', 'Must be 40 or fewer in length.')
}

export const checkBody = (body: Json, uploads: readonly Upload[], existing: MessageState | null): void => {
  const form = openForm()
  const { content, nonce, allowed_mentions, embeds, components, attachments } = body
  const v2 = (Number(body.flags ?? existing?.flags ?? 0) & messageFlags.V2) !== 0
  if (content !== undefined && content !== null) {
    // Discord names the longer limit of paying people first.
    if ([...String(content)].length > 4000) form.length('content', String(content), 0, 4000)
    else form.length('content', content, 0, 2000)
    if (v2 && content !== '') {
      form.add('content', 'MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2', 'The content field cannot be used')
    }
  }
  if (typeof nonce === 'string') form.length('nonce', nonce, 0, 25)
  else if (nonce !== undefined && nonce !== null && !Number.isSafeInteger(nonce)) {
    form.add('nonce', 'NONCE_TYPE_INVALID', 'Nonce must be a string or an integer.')
  }
  if (allowed_mentions !== undefined && allowed_mentions !== null) checkAllowedMentions(form, allowed_mentions)
  checkEmbeds(form, asList(embeds))
  checkComponents(form, asList(components), v2)
  form.count('attachments', asList(attachments), 10)
  if (uploads.length > 10) form.add('files', 'BASE_TYPE_MAX_LENGTH', 'Must be 10 or fewer in length.')
  asList(attachments).forEach((attachment, at) => {
    const id = String(attachment.id)
    const kept = existing?.attachments.some(file => file.id === id) === true
    if (kept || uploads.some(upload => upload.field === `files[${id}]`)) return
    form.add(`attachments.${at}.id`, 'ATTACHMENT_NOT_FOUND', 'Attachment data for this id was not found')
  })
  form.done()
  if (uploads.some(upload => upload.bytes.length > 10 * 1024 * 1024)) throw refusal(40005)
}
