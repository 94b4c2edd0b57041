// Buttons that every platform accepts, and who handles a click.
import { expect, test } from 'vitest'
import { buttonRows, createClicks } from './buttons.ts'
import type { Click } from './chat.ts'

const click = (button: string): Click => ({
  ...{ button, text: null, name: 'Ada' },
  message: { place: { chat: 'discord', conversation: '1' }, id: '2' },
  sender: { chat: 'discord', user: '3', roles: [], channel: '1', guild: null, where: 'a direct message' },
})

test('buttons are put into rows of five; what some platform would refuse is a bug', () => {
  const button = (id: string, label = 'Allow') => ({ id, label })
  const seven = [...'abcdefg'].map(id => button(id))
  expect(buttonRows(seven).map(row => row.length)).toEqual([5, 2])
  expect(buttonRows([])).toEqual([])
  expect(() => buttonRows([button('x'.repeat(65))])).toThrow(RangeError)
  expect(() => buttonRows([button('é')])).toThrow(RangeError)
  expect(() => buttonRows([button('a', 'x'.repeat(41))])).toThrow(RangeError)
  expect(() => buttonRows([button('a', '')])).toThrow(RangeError)
  expect(() => buttonRows([button('a'), button('a')])).toThrow(RangeError)
  expect(() => buttonRows([...'abcdefghijk'].map(id => button(id)))).toThrow(RangeError)
})

test('a click goes to the handler of its prefix, also that of a stranger; buttons without a purpose get a note', async () => {
  const clicks = createClicks()
  clicks.on('approval', async ({ button }, who) => ({ type: 'note', text: `${button} by ${who}` }))
  expect(await clicks.clicked(click('approval:7:once'), 'guest')).toEqual({
    ...{ type: 'note', text: 'approval:7:once by guest' },
  })
  expect(await clicks.clicked(click('approval:7:once'), null)).toMatchObject({ text: 'approval:7:once by null' })
  expect(await clicks.clicked(click('other:7'), 'owner')).toMatchObject({
    text: 'This button no longer does anything.',
  })
})
