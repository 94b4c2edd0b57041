// Usage against the real gateway: real figures, by conversation.
import { expect, test } from 'vitest'
import { connect } from '../harness/client.ts'
import { openPlace } from './real-gateway.ts'

test('the usage of two conversations is listed separately, and one more turn is counted', async () => {
  const { gateway, visit } = await openPlace()
  const say = async (conversation: string, ...texts: string[]) => {
    const client = await connect(gateway.url, conversation)
    for (const [place, text] of texts.entries()) {
      client.say(`${place} ${text}`, text)
      await client.final(`${place} ${text}`)
    }
    await client.close()
  }
  await say('kitchen', 'one', 'two')
  await say('5f0c2b1e-0a5b-4b1e-9e64-0a39c2e0a111', 'three')
  const { page, trouble } = await visit('usage')
  const cells = (column: number) => page.locator(`tbody td:nth-child(${column})`).allInnerTexts()
  await expect.poll(() => cells(1)).toEqual(['claude'])
  await page.getByLabel('Group by').selectOption('channel')
  await expect.poll(() => cells(1)).toEqual(['webchat kitchen', 'webchat 5f0c2b1e'])
  expect(await cells(2)).toEqual(['2', '1'])
  expect(await cells(7)).toEqual([expect.stringMatching(/\d m?s$/), expect.stringMatching(/\d m?s$/)])
  await expect.poll(() => page.locator('.plot canvas').count()).toBe(4)
  await say('kitchen', 'four')
  await page.reload()
  await page.getByLabel('Group by').selectOption('channel')
  await expect.poll(() => cells(2)).toEqual(['3', '1'])
  expect(trouble).toEqual([])
})
