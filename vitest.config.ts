import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, or the others wait for it at the end. By themselves small files, however slow, come last. */
const slow = [/backend-warm/, /backend-cold/, /backend-stays-up/, /scenarios/, /contracts/]

/** What starts the program a hundred times and more has a run of its own: `npm run test:long`. */
export const long = [
  'test/contracts/linear.contract.test.ts',
  ...[
    'admin-api',
    'attacks',
    'attacks-load',
    'dashboard',
    'database',
    'descriptors',
    'discord-answers',
    'discord-away',
    'discord-commands',
    'discord-compatible',
    'discord-delivery',
    'discord-doctor',
    'discord-missed',
    'disk',
    'guarded-trees',
    'guest-limits',
    'left-behind',
    'paused',
    'pipes',
    'service',
    'slack',
    'slack-delivery',
    'slack-doctor',
    'telegram',
    'telegram-delivery',
    'telegram-doctor',
  ].map(name => `test/scenarios/${name}.test.ts`),
]

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = slow.findIndex(name => name.test(moduleId))
      return at < 0 ? slow.length : at
    }
    return files.sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/browser/**', 'test/crash/chats.test.ts', ...long, 'node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // A CI machine is shared. What fails there gets one more try; the report marks it, and a promise that is broken stays broken.
    retry: process.env.CI ? 1 : 0,
    expect: { poll: { timeout: 10_000 } },
    pool: 'forks',
    // Most of the time they wait for processes, not for the processor.
    maxWorkers: 5,
    sequence: { sequencer: SlowFirst },
  },
})
