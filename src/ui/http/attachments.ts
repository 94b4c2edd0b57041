// Files of WebChat over HTTP: uploads, and downloads sent so that nothing in them can run on our pages.
import { pipeline } from 'node:stream/promises'
import { type AttachmentsAdmin, attachmentId, type Download, mostAttachmentBytes } from '../../base/attachments.ts'
import { conversationName } from './conversation-name.ts'
import { type Exchange, replyError, replyJson, securityHeaders } from './reply.ts'
import type { Route } from './route.ts'

const tooLarge = 'Too large: the limit is 25 MB.'

/** What a browser displays but never runs. */
const pictures: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
}

export const attachmentRoutes = (files: AttachmentsAdmin): Readonly<Record<string, readonly Route[]>> => ({
  '/api/attachments': [
    { method: 'GET', access: 'token', answer: exchange => handOut(exchange, files) },
    { method: 'POST', access: 'token', answer: exchange => take(exchange, files) },
  ],
})

const take = async (exchange: Exchange, files: AttachmentsAdmin): Promise<void> => {
  const { request, url } = exchange
  const conversation = url.searchParams.get('conversation') ?? ''
  const name = url.searchParams.get('name') ?? ''
  if (!conversationName.test(conversation))
    return replyError(exchange, 400, 'Say in which conversation: ?conversation=…&name=…')
  if (name === '' || name.length > 1000) return replyError(exchange, 400, 'Say what the file is called: &name=…')
  if (Number(request.headers['content-length'] ?? 0) > mostAttachmentBytes) return replyError(exchange, 413, tooLarge)
  // If we stop reading, the request stays open and the rest is dropped, so that the answer arrives.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
  const taken = await files.take({ conversation, name, type: typeOf(request.headers['content-type']), body })
  request.resume()
  if (taken === 'too-large') replyError(exchange, 413, tooLarge)
  else if (taken === 'no-room') replyError(exchange, 507, 'There is no room left on the disk of the gateway.')
  else replyJson(exchange, 201, { attachment: taken })
}

const handOut = async (exchange: Exchange, files: AttachmentsAdmin): Promise<void> => {
  const { searchParams } = exchange.url
  const file = searchParams.get('file')
  const conversation = searchParams.get('conversation') ?? ''
  const id = searchParams.get('id') ?? ''
  if (file === null && !(conversationName.test(conversation) && attachmentId.test(id)))
    return replyError(exchange, 400, 'Say which file: ?conversation=…&id=… or ?file=…')
  const found = file === null ? await files.uploaded(conversation, id) : await files.sent(file)
  if (found === null) return replyError(exchange, 404, 'This file is not there (any more).')
  // An uploaded file never changes.
  await send(exchange, found, file === null ? 'private, max-age=86400, immutable' : 'no-cache')
}

const send = async ({ request, response }: Exchange, file: Download, caching: string): Promise<void> => {
  const picture = pictures[/\.([^.]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? '']
  response.writeHead(200, {
    ...securityHeaders,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Cache-Control': caching,
    'Content-Type': picture ?? 'application/octet-stream',
    'Content-Length': file.bytes,
    'Content-Disposition': `${picture ? 'inline' : 'attachment'}; filename*=UTF-8''${encoded(file.name)}`,
  })
  const content = request.method === 'HEAD' ? [] : exactly(file.bytes, file.content())
  // A client that leaves early is no problem; a read error shows as a broken connection.
  await pipeline(content, response).catch(() => response.destroy())
}

/** An agent may be writing the file: extra bytes would be read as the next response, and missing ones waited for. */
async function* exactly(bytes: number, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const chunk of content) {
    if (left > 0) yield chunk.subarray(0, left)
    left -= chunk.length
    if (left < 0) return
  }
  if (left > 0) throw new Error('the file has become shorter')
}

const encoded = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, one => `%${one.charCodeAt(0).toString(16)}`)

/** The type given by the sender, if it is well-formed. Only agents see it. */
const typeOf = (header: string | undefined): string => {
  const type = header?.split(';')[0]?.trim().toLowerCase() ?? ''
  return /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(type) ? type : 'application/octet-stream'
}
