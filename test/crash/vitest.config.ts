import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/crash/**/*.faults.ts', 'test/crash/chats.test.ts'],
    testTimeout: 300_000,
    maxWorkers: 1,
    // Most of the time they wait for pauses and for processes to come up.
    maxConcurrency: 3,
  },
})
