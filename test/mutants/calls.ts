// Records which functions of the product each test calls; mutate.ts inserts the probes.
import { afterEach, beforeEach } from 'vitest'

let called = new Set<string>()
/** While the file was loaded and prepared. */
let shared: ReadonlySet<string> | null = null
Object.assign(globalThis, { __called: (name: string) => void called.add(name) })

beforeEach(() => {
  shared ??= called
  called = new Set()
})
afterEach(({ task }) => {
  Object.assign(task.meta, { calls: [...new Set([...(shared ?? []), ...called])] })
})
