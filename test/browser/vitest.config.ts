// Tests of the pages in a real browser: `vitest run --config test/browser/vitest.config.ts`. They need Chromium.
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/browser/**/*.browser.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A CI machine is shared. What fails there gets one more try; the report marks it, and a promise that is broken stays broken.
    retry: process.env.CI ? 1 : 0,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    fileParallelism: false,
  },
})
