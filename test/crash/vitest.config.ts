import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['test/crash/**/*.faults.ts', 'test/crash/chats.test.ts'], testTimeout: 180_000, maxWorkers: 1 },
})
