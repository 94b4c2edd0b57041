// How HTTP responses are written: headers, JSON, errors.
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

const contentSecurityPolicy = (scripts: string): string =>
  [
    "default-src 'none'",
    `script-src ${scripts}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** For a page with one inline script; takes its SHA-256 in base64. */
export const policyHeader = (sha256: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': contentSecurityPolicy(`'self' 'sha256-${sha256}'`),
})

export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy("'self'"),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>

export const reply = (
  { response }: Exchange,
  status: number,
  type: string,
  body: string | Buffer,
  headers: ReplyHeaders = {},
): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, {
    ...securityHeaders,
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}

export const replyJson = (exchange: Exchange, status: number, body: object, headers?: ReplyHeaders): void =>
  reply(exchange, status, 'application/json; charset=utf-8', `${JSON.stringify(body)}\n`, headers)

/** Errors are JSON for programs and plain text for people. */
export const replyError = (exchange: Exchange, status: number, words: string, headers?: ReplyHeaders): void => {
  if (isForPrograms(exchange.url)) replyJson(exchange, status, { error: words }, headers)
  else reply(exchange, status, 'text/plain; charset=utf-8', `${words}\n`, headers)
}

export const redirect = (exchange: Exchange, to: string, headers: ReplyHeaders = {}): void =>
  reply(exchange, 303, 'text/plain; charset=utf-8', '', { Location: to, ...headers })

const isForPrograms = ({ pathname }: URL): boolean =>
  pathname.startsWith('/api/') ||
  pathname.startsWith('/hooks/') ||
  pathname === '/healthz' ||
  pathname === '/metrics' ||
  pathname === '/events' ||
  pathname === '/ws'
