// A separate program (bin/mcp-bridge.mjs): an MCP server on stdin and stdout with the tools of the running gateway.
import { createGatewayClient } from './gateway-client.ts'
import { asMcpTool } from './schema.ts'

/** Resolves when it accepts requests. Ends the process when its input ends. */
export async function runBridge(url: string, key: string): Promise<void> {
  const gateway = createGatewayClient(url, key)
  // Requested while the library loads.
  let first: ReturnType<typeof gateway.list> | null = gateway.list(new AbortController().signal)
  first.catch(() => undefined)
  const [{ Server }, { serveStdio }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
  ])

  serveStdio(
    () => {
      const server = new Server({ name: 'aetheel', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', async (_, { mcpReq }) => {
        const listing = first ?? gateway.list(mcpReq.signal)
        first = null
        return { tools: (await listing).map(asMcpTool) }
      })
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const { ok, text } = await gateway.call(params.name, params.arguments, mcpReq.signal)
        return { content: [{ type: 'text', text }], isError: !ok }
      })
      return server
    },
    // The CLI may keep this in a log, so it repeats nothing of the input.
    { onerror: () => process.stderr.write('received input that is not MCP\n') },
  )

  // The client is gone. Calls in progress may still be carried out.
  for (const end of ['end', 'close', 'error'] as const) process.stdin.on(end, () => process.exit(0))
  process.stdout.on('error', () => process.exit(0))
}
