// Turns the compile cache on before the first TypeScript file is read: when nothing has changed, Node then loads no compiler.
import { enableCompileCache } from 'node:module'

enableCompileCache()
await import('../src/main.ts')
