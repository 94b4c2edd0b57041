// Turns the compile cache on before the first TypeScript file is read: if nothing has changed, Node loads no compiler.
import { enableCompileCache } from 'node:module'
import { nodeProblem } from './node-version.mjs'

const problem = nodeProblem(process.versions.node)
if (problem !== null) {
  process.stderr.write(`aetheel: ${problem}\n`)
  process.exit(1)
}

// In its own folder: the system's temporary folder is shared by all users.
enableCompileCache(new URL('../node_modules/.cache/aetheel', import.meta.url).pathname)
await import('../src/main.ts')
