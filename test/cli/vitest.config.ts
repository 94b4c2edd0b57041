// The real CLIs: `npm run test:cli`. Installs them into a cache outside the repository the first time.
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/cli/*.cli.ts'],
    testTimeout: 150_000,
    hookTimeout: 60_000,
    // A CI machine is shared. What fails there gets one more try; the report marks it, and a promise that is broken stays broken.
    retry: process.env.CI ? 1 : 0,
    fileParallelism: false,
    expect: { poll: { timeout: 10_000 } },
  },
})
