// A proxy in front of the fake model, on a loopback port: adds behaviour of the real services that the fake lacks.
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Front {
  readonly url: string
  /** The body of the last request, as the CLI sent it: the fake model keeps only what it understands. */
  last(): string
  close(): void
}

export async function openFront(model: string): Promise<Front> {
  let last = ''
  const server = createServer((asked, answered) => {
    const { method, headers } = asked
    const body: Buffer[] = []
    asked.on('data', (chunk: Buffer) => body.push(chunk))
    asked.on('end', () => {
      last = Buffer.concat(body).toString('utf8') || last
    })
    const onward = request(new URL(asked.url ?? '/', model), { method, headers }, got => {
      // Asks for an immediate retry after a 5xx, because opencode would wait long.
      const soon = (got.statusCode ?? 0) >= 500 ? { 'retry-after-ms': '10' } : {}
      answered.writeHead(got.statusCode ?? 500, { ...got.headers, ...soon })
      const responses = asked.url?.includes('/responses') ?? false
      got.on('data', (chunk: Buffer) => answered.write(responses ? inNamespace(chunk) : chunk))
      got.on('end', () => answered.end())
    })
    onward.on('error', () => answered.destroy())
    answered.on('close', () => onward.destroy())
    asked.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    last: () => last,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The service behind codex uses two names for the tool of an MCP server. */
const inNamespace = (chunk: Buffer) =>
  chunk.toString('utf8').replace(/"name":"(mcp__[a-z]+)__([a-z_]+)"/g, '"name":"$2","namespace":"$1"')
