// For one run of the tests with the fault that AETHEEL_TEST_FAULT names; see campaign.faults.ts.
import { defineConfig, mergeConfig } from 'vitest/config'
import base from '../../vitest.config.ts'
import { withFault } from './faults.ts'

const fault = process.env.AETHEEL_TEST_FAULT ?? ''

export default mergeConfig(
  { ...base, test: { ...base.test, exclude: ['node_modules/**'] } },
  defineConfig({
    plugins: [
      { name: 'fault', enforce: 'pre', transform: (code, id) => withFault(fault, id.split('?')[0] ?? id, code) },
    ],
    // Vitest caches transformed modules across runs and does not know about the fault, so it would use those without it.
    test: { maxWorkers: 1, fsModuleCache: false },
  }),
)
