// Turns the compile cache on before the first TypeScript file is read: if nothing has changed, Node loads no compiler.
import { enableCompileCache } from 'node:module'

// In its own folder: the system's temporary folder is shared by all users.
enableCompileCache(new URL('../node_modules/.cache/aetheel', import.meta.url).pathname)
await import('../src/main.ts')
