// A program of its own (bin/mcp-bridge.mjs): an MCP server on stdin and stdout whose tools are those of the running gateway.
import { openFarGateway } from './far.ts'
import { asMcpTool } from './schema.ts'

/** Resolves when it takes requests; ends the process with its input. */
export async function runBridge(url: string, key: string): Promise<void> {
  const gateway = openFarGateway(url, key)
  // Asked for while the library loads.
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
        const asked = first ?? gateway.list(mcpReq.signal)
        first = null
        return { tools: (await asked).map(asMcpTool) }
      })
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const { ok, text } = await gateway.call(params.name, params.arguments, mcpReq.signal)
        return { content: [{ type: 'text', text }], isError: !ok }
      })
      return server
    },
    // Whoever started us may keep this in a log: nothing of what came in.
    { onerror: () => process.stderr.write('something came in that is not MCP\n') },
  )

  // Nobody is there any more. What is under way may be done all the same.
  for (const end of ['end', 'close', 'error'] as const) process.stdin.on(end, () => process.exit(0))
  process.stdout.on('error', () => process.exit(0))
}
