import { defineConfig } from 'vitest/config'
import { long } from '../vitest.config.ts'

export default defineConfig({
  test: {
    include: long,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A CI machine is shared. What fails there gets one more try; the report marks it, and a promise that is broken stays broken.
    retry: process.env.CI ? 1 : 0,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    maxWorkers: 3,
  },
})
