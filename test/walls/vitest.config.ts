// Attacks on the walls with the real CLIs: `npm run test:walls`. Needs bubblewrap, and the CLIs of `npm run test:cli`.
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/walls/*.walls.ts'],
    testTimeout: 150_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    expect: { poll: { timeout: 10_000 } },
  },
})
