// The program that a CLI starts as the gateway's MCP server: the bridge, with the compile cache on before its first TypeScript file is read.
import { enableCompileCache, flushCompileCache } from 'node:module'

const { AETHEEL_URL, AETHEEL_KEY } = process.env
if (!AETHEEL_URL || !AETHEEL_KEY) {
  process.stderr.write('Aetheel starts this program for its agents, with AETHEEL_URL and AETHEEL_KEY set.\n')
  process.exit(2)
}
enableCompileCache(new URL('../node_modules/.cache/aetheel', import.meta.url).pathname)
const { runBridge } = await import('../src/tools/mcp/bridge.ts')
await runBridge(AETHEEL_URL, AETHEEL_KEY)
// Most CLIs end this program with a signal, and then Node would not write the cache on exit.
setTimeout(flushCompileCache, 2000).unref()
