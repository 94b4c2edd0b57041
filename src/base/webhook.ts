// A webhook, between the web server that receives it and the part that handles it.

export interface WebhookAnswer {
  readonly status: number
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Resolves after the commit. Header names are in lower case; the body is unchanged byte by byte, since the signature covers it. */
export type ReceiveWebhook = (
  name: string,
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
) => Promise<WebhookAnswer>
