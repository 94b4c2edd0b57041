// A webhook between the server that hears it and the part that knows what it means.

export interface WebhookAnswer {
  readonly status: number
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Resolves after the commit. Names of headers in lower case, the body byte by byte as it came: a signature is over that. */
export type ReceiveWebhook = (
  name: string,
  headers: Readonly<Record<string, string | undefined>>,
  body: Uint8Array,
) => Promise<WebhookAnswer>
