// Verifies that the sender of a webhook knows the secret: GitHub and Stripe signatures and bearer tokens, in constant time.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export const signatureKinds = ['github', 'stripe', 'bearer'] as const
export type SignatureKind = (typeof signatureKinds)[number]

export type Headers = Readonly<Record<string, string | undefined>>

export type Proof =
  | { readonly type: 'proven'; readonly by: 'github' | 'bearer' }
  /** `at` is the signed time, in seconds. */
  | { readonly type: 'proven'; readonly by: 'stripe'; readonly at: number }
  | { readonly type: 'missing' | 'wrong' | 'too-old' }

const toleranceMs = 5 * 60_000
/** A sender that rotates its secret signs with both; more than a few signatures is somebody guessing. */
const mostSignatures = 5

/** With `kind` null, any of the three is accepted. If there are several, one valid proof is enough. */
export function prove(
  kind: SignatureKind | null,
  secret: string,
  headers: Headers,
  body: Uint8Array,
  nowMs: number,
): Proof {
  const looks: Readonly<Record<SignatureKind, () => Proof>> = {
    github: () => proveGithub(secret, headers['x-hub-signature-256'], body, kind === null),
    stripe: () => proveStripe(secret, headers['stripe-signature'], body, nowMs),
    bearer: () => proveBearer(secret, headers.authorization),
  }
  const proofs = (kind === null ? signatureKinds : [kind]).map(one => looks[one]())
  const rank = ['proven', 'too-old', 'wrong'] as const
  for (const type of rank) {
    const proof = proofs.find(one => one.type === type)
    if (proof) return proof
  }
  return { type: 'missing' }
}

function proveGithub(secret: string, given: string | undefined, body: Uint8Array, anyKind: boolean): Proof {
  if (given === undefined) return { type: 'missing' }
  const right = sameHex(/^sha256=([0-9a-f]{64})$/i.exec(given.trim())?.[1], hmac(secret).update(body).digest())
  // Stripe signs `time.body`. Replayed as a body under GitHub's header, an intercepted Stripe delivery would never expire.
  if (anyKind && /^\d+\./.test(Buffer.from(body.subarray(0, 24)).toString('latin1'))) return { type: 'wrong' }
  return right ? { type: 'proven', by: 'github' } : { type: 'wrong' }
}

function proveStripe(secret: string, given: string | undefined, body: Uint8Array, nowMs: number): Proof {
  if (given === undefined) return { type: 'missing' }
  const parts = given.split(',', 20).map(part => part.trim())
  const time = parts.find(part => part.startsWith('t='))?.slice(2) ?? ''
  const signatures = parts.filter(part => part.startsWith('v1=')).slice(0, mostSignatures)
  const expected = hmac(secret).update(`${time}.`).update(body).digest()
  // Compares all of them, so that the timing does not show which one matched.
  const right = signatures.map(part => sameHex(part.slice(3), expected)).includes(true)
  if (!right || !/^\d{1,12}$/.test(time)) return { type: 'wrong' }
  const at = Number(time)
  return Math.abs(nowMs - at * 1000) > toleranceMs ? { type: 'too-old' } : { type: 'proven', by: 'stripe', at }
}

function proveBearer(secret: string, given: string | undefined): Proof {
  if (given === undefined) return { type: 'missing' }
  const token = /^Bearer +(.+)$/i.exec(given.trim())?.[1] ?? ''
  // Digests have equal length, so the comparison does not show how long the secret is.
  const same = timingSafeEqual(digest(token), digest(secret))
  return same && token !== '' ? { type: 'proven', by: 'bearer' } : { type: 'wrong' }
}

const hmac = (secret: string) => createHmac('sha256', secret)

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

function sameHex(given: string | undefined, expected: Buffer): boolean {
  const bytes = Buffer.from(given !== undefined && /^[0-9a-f]{64}$/i.test(given) ? given : '00'.repeat(32), 'hex')
  return timingSafeEqual(bytes, expected)
}
