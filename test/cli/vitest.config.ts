// The real CLIs: `npm run test:cli`. Installs them into a cache outside the repository the first time.
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Each has a run of its own, so that some can go on at the same time. Those that take longest come first. */
const backends = ['opencode', 'pi', 'gemini', 'codex', 'claude', 'claude-sdk'] as const

type Backend = (typeof backends)[number]

declare module 'vitest' {
  interface ProvidedContext {
    backend: Backend
  }
}

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      ['signs', 'real', 'asks', 'tools', 'pi-mcp'].findIndex(name => moduleId.endsWith(`${name}.cli.ts`)) *
        backends.length +
      backends.indexOf(project.name as Backend)
    return files.sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: ['test/cli/*.cli.ts'],
    globalSetup: 'test/cli/install.ts',
    testTimeout: 600_000,
    hookTimeout: 120_000,
    // A CI machine is shared. What fails there gets one more try; the report marks it, and a promise that is broken stays broken.
    retry: process.env.CI ? 1 : 0,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // Much of the time they wait for the pauses of a CLI.
    maxWorkers: 3,
    sequence: { sequencer: SlowFirst },
    projects: backends.map(backend => ({
      extends: true,
      test: {
        name: backend,
        provide: { backend },
        exclude: [
          // It gets its tools as claude does.
          ...(backend === 'claude-sdk' ? ['test/cli/tools.cli.ts'] : []),
          ...(backend === 'pi' ? [] : ['test/cli/pi-mcp.cli.ts']),
        ],
      },
    })),
  },
})
