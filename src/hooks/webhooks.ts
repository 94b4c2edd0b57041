// Webhooks: other programs trigger the agent. Defined in agents.md; accepted only with proof of the secret.

import { createHash, randomBytes } from 'node:crypto'
import type { EventSink, Place, RefusalReason } from '../base/event.ts'
import { parseModelOverride } from '../base/model-override.ts'
import type { Emit } from '../base/signal.ts'
import { errorText } from '../base/unknown.ts'
import type { ReceiveWebhook, WebhookAnswer } from '../base/webhook.ts'
import { type CommonFields, type HookTrouble, readSection } from './entry.ts'
import { type Headers, type Proof, prove, type SignatureKind, signatureKinds } from './signature.ts'

export interface WebhookEntry extends CommonFields {
  readonly name: string
  /** The name of a variable, never the secret itself. */
  readonly secret: string
  /** Null to accept any of the three. */
  readonly signature: SignatureKind | null
}

export interface WebhookEntries {
  readonly webhooks: readonly WebhookEntry[]
  readonly troubles: readonly HookTrouble[]
}

export interface WebhookParts {
  /** Reads the current agents.md. */
  read(): Promise<string>
  /** The value of a variable. Null if it is not set. */
  secret(name: string): string | null
  readonly accept: EventSink
  /** Null if the answer goes nowhere. */
  placeOf(channel: string | null): Place | null
  readonly emit: Emit
  now(): number
}

export interface Webhooks {
  readonly receive: ReceiveWebhook
}

const mostBytes = 1024 * 1024
const fitName = /^[a-z0-9_][a-z0-9._-]{0,63}$/
const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

export function readWebhooks(agentsMarkdown: string): WebhookEntries {
  const { found, troubles } = readSection<WebhookEntry>(
    agentsMarkdown,
    'Webhooks',
    ['secret', 'signature'],
    (entry, common) => {
      const name = entry.name.trim().toLowerCase()
      const secret = entry.fields.get('secret') ?? ''
      const signature = (entry.fields.get('signature') ?? '').toLowerCase()
      const kind = signatureKinds.find(known => known === signature) ?? null
      const why = objection(name, secret, signature, kind)
      return why === null
        ? { ok: true, value: { ...common, name, secret, signature: kind } }
        : { ok: false, why: `${why} Until then it is refused.` }
    },
  )
  return { webhooks: [...found.values()], troubles }
}

/** Does not repeat the value of `Secret:`, which may be the secret itself. */
function objection(name: string, secret: string, signature: string, kind: SignatureKind | null): string | null {
  if (!fitName.test(name)) return 'Its name is part of an address: use up to 64 letters, digits, ".", "_" and "-".'
  if (secret === '') return 'It needs a line "Secret: NAME" with the name of the variable that holds the secret.'
  if (!variableName.test(secret))
    return '"Secret:" takes the name of a variable, such as GITHUB_WEBHOOK_SECRET; the secret itself belongs in .env.'
  if (signature !== '' && kind === null) return `"Signature:" is one of ${signatureKinds.join(', ')}.`
  return null
}

export function createWebhooks({ read, secret, accept, placeOf, emit, now }: WebhookParts): Webhooks {
  // For unknown webhooks: they take as long as a wrong signature, since nothing matches this secret.
  const unknownSecret = randomBytes(32).toString('hex')
  let last: { readonly markdown: string; readonly webhooks: readonly WebhookEntry[] } | null = null
  const warned = new Set<string>()

  const complain = (why: string) => {
    if (warned.has(why)) return
    warned.add(why)
    emit({ type: 'workspace-trouble', file: 'agents.md', why })
  }

  async function find(name: string): Promise<WebhookEntry | null> {
    const markdown = await read()
    if (last?.markdown !== markdown) {
      const { webhooks, troubles } = readWebhooks(markdown)
      last = { markdown, webhooks }
      warned.clear()
      for (const trouble of troubles) complain(`webhook ${trouble.name}: ${trouble.why}`)
    }
    const wanted = name.toLowerCase()
    return last.webhooks.find(one => one.name === wanted) ?? null
  }

  const receive: ReceiveWebhook = async (name, headers, body) => {
    let webhook: WebhookEntry | null
    try {
      webhook = await find(name)
    } catch (error) {
      complain(`webhooks cannot be looked up: ${errorText(error)}`)
      return answers.notNow
    }
    const key = webhook === null ? unknownSecret : secret(webhook.secret)
    // With an empty key anybody can sign.
    if (webhook !== null && (key === null || key.trim() === '')) {
      complain(`webhook ${webhook.name}: the variable ${webhook.secret} is not set. Until then it is refused.`)
      return answers.notNow
    }
    if (body.byteLength > mostBytes) return answers.tooLarge
    const proof = prove(webhook?.signature ?? null, key ?? unknownSecret, headers, body, now())
    if (webhook === null) return answers.unknown
    if (proof.type !== 'proven') return answers[proof.type]
    const payload = asText(body)
    if (payload === null) return answers.notText
    return hand(webhook, payload, deliveryOf(proof, headers, payload, now()))
  }

  async function hand(webhook: WebhookEntry, payload: string, delivery: string): Promise<WebhookAnswer> {
    const { name, instruction, channel, model } = webhook
    const taken = await accept({
      key: `webhook:${name}:${delivery}`,
      lane: `webhook:${name}`,
      what: { kind: 'webhook', name, instruction, payload },
      replyTo: placeOf(channel),
      source: 'webhook',
      ...(model === null ? {} : { modelOverride: parseModelOverride(model) }),
    })
    switch (taken.type) {
      case 'accepted':
        return { status: 202, body: { event: taken.id } }
      case 'duplicate':
        return { status: 200, body: { event: taken.id, duplicate: true } }
      case 'refused':
        return refusal(taken.why, taken.reason)
      default:
        return taken satisfies never
    }
  }

  return { receive }
}

const refused = (status: number, error: string, headers?: Readonly<Record<string, string>>): WebhookAnswer => ({
  status,
  body: { error },
  ...(headers === undefined ? {} : { headers }),
})

const answers = {
  unknown: refused(404, 'There is no webhook of this name.'),
  notNow: refused(503, 'This webhook cannot be accepted now. The log of the gateway says why.', {
    'Retry-After': '60',
  }),
  tooLarge: refused(413, `The body is longer than ${mostBytes} bytes.`),
  missing: refused(401, 'The signature or token is missing.'),
  wrong: refused(401, 'The signature or token is wrong.'),
  'too-old': refused(401, 'The signature is too old, or a clock is wrong.'),
  notText: refused(400, 'The body is not UTF-8.'),
} as const

function refusal(why: RefusalReason, reason: string): WebhookAnswer {
  if (why === 'too-fast' || why === 'over-budget') return refused(429, reason, { 'Retry-After': '60' })
  if (why === 'too-long') return refused(413, reason)
  return refused(503, reason, { 'Retry-After': '5' })
}

function asText(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return null // not UTF-8
  }
}

/**
 * Makes a repeated delivery recognisable. For Stripe only signed data counts: otherwise one intercepted delivery could be
 * replayed under any number of ids. GitHub signs neither an id nor a time.
 */
function deliveryOf(
  proof: Extract<Proof, { type: 'proven' }>,
  headers: Headers,
  payload: string,
  nowMs: number,
): string {
  if (proof.by === 'stripe') return fitId(eventIdIn(payload)) ?? `${hash(payload)}-${proof.at}`
  const names = ['x-github-delivery', 'idempotency-key', 'x-delivery-id', 'x-request-id']
  const given = names.map(name => headers[name]?.trim() ?? '').find(value => value !== '')
  return fitId(given) ?? `${hash(payload)}-${Math.floor(nowMs / 60_000)}`
}

/** The id itself if it is short and plain, otherwise its hash. Null if there is none. */
function fitId(id: string | undefined): string | null {
  if (id === undefined || id === '') return null
  return /^[A-Za-z0-9._:-]{1,128}$/.test(id) ? id : hash(id)
}

function eventIdIn(payload: string): string | undefined {
  try {
    const event: unknown = JSON.parse(payload)
    if (typeof event !== 'object' || event === null || !Object.hasOwn(event, 'id')) return undefined
    const { id } = event as { readonly id: unknown }
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined // not JSON, so it has no id
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
