import { defineConfig } from 'vitest/config'
import { long } from '../vitest.config.ts'

export default defineConfig({
  test: {
    include: long,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    maxWorkers: 3,
  },
})
