// The real CLIs: `npm run test:cli`. Installs them into a cache outside the repository the first time.
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/cli/*.cli.ts'],
    testTimeout: 150_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    expect: { poll: { timeout: 10_000 } },
  },
})
