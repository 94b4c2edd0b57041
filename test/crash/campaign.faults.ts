// A campaign that could not fail would prove nothing: each fault, put in on purpose, must be noticed.
import { expect, test } from 'vitest'
import { runCampaign } from './campaign.ts'
import { faults } from './faults.ts'

test.each(Object.keys(faults))('the campaign notices: %s', async fault => {
  const { broken } = await runCampaign({ kills: 12, seed: 42, fault, patienceMs: 8000 })
  expect(broken.length).toBeGreaterThan(0)
  console.log(`${fault}: ${broken.length} promises broken, such as: ${broken[0]}`)
})
