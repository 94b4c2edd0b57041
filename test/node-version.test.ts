// Which Node Aetheel runs on.
import { expect, test } from 'vitest'
import product from '../package.json' with { type: 'json' }

const { nodeProblem } = (await import(new URL('../bin/node-version.mjs', import.meta.url).href)) as {
  nodeProblem(version: string): string | null
}

test.each(['20.19.0', '22.23.2', '24.0.0', '24.17.9'])('%s is refused, with a word about Apple silicon', version => {
  expect(nodeProblem(version)).toMatch(/^Aetheel needs Node 24\.18 or newer; this is .*Apple silicon/)
})

test.each(['24.18.0', '24.21.0', '26.1.0'])('%s is good', version => expect(nodeProblem(version)).toBe(null))

test('every Node that npm installs along is good', () => {
  for (const [name, version] of Object.entries(product.optionalDependencies))
    expect(nodeProblem(version), name).toBe(null)
})
