// Turns the compile cache on before the first TypeScript file is read: when nothing has changed, Node then loads no compiler.
import { enableCompileCache } from 'node:module'

// In a folder of its own: the system's temporary one is everybody's.
enableCompileCache(new URL('../node_modules/.cache/aetheel', import.meta.url).pathname)
await import('../src/main.ts')
