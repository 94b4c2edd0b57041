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
    // Vitest keeps transformed modules from run to run and does not know of the fault: it would hand out those without it.
    test: { maxWorkers: 1, fsModuleCache: false },
  }),
)
