// Accessibility checks with axe.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Each violated rule once, with the first element that violates it. */
export const axeComplaints = async (page: Page, where: string): Promise<readonly string[]> => {
  // Evaluated by the debugger: the content security policy would block it as a script of the page.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe)
  const { violations } = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as AxeResults
  return violations.map(
    ({ id, impact, nodes }) => `${where}: ${id} (${impact}), ${nodes.length} times: ${nodes[0]?.html}`,
  )
}
