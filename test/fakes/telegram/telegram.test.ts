// The loopback Telegram refuses what Telegram refuses.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FakeTelegram, openTelegram } from './index.ts'

let telegram: FakeTelegram
beforeEach(async () => {
  telegram = await openTelegram()
})
afterEach(() => telegram.close())

async function call(method: string, payload: object = {}, token = telegram.token) {
  const answer = await fetch(`${telegram.url}/bot${token}/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(payload),
  })
  return (await answer.json()) as {
    ok: boolean
    result?: never
    error_code?: number
    description?: string
    parameters?: object
  }
}

const withButtons = (rows: readonly (readonly string[])[]) => ({
  chat_id: 5001,
  text: 'x',
  reply_markup: { inline_keyboard: rows.map(row => row.map(data => ({ text: 'a', callback_data: data }))) },
})

test.each<[string, string, object, number, RegExp]>([
  ['an unknown method', 'sendMesage', {}, 404, /Not Found/],
  ['an unknown parameter', 'getChat', { chat_id: 5001, chat: 1 }, 400, /unknown parameter/],
  ['an unknown chat', 'sendMessage', { chat_id: 1, text: 'x' }, 400, /chat not found/],
  ['an empty text', 'sendMessage', { chat_id: 5001, text: ' \n' }, 400, /text is empty/],
  ['a text that is too long', 'sendMessage', { chat_id: 5001, text: 'x'.repeat(4097) }, 400, /too long/],
  ['button data over 64 bytes', 'sendMessage', withButtons([['é'.repeat(33)]]), 400, /BUTTON_DATA_INVALID/],
  ['nine buttons in a row', 'sendMessage', withButtons([[...'123456789']]), 400, /REPLY_MARKUP_TOO_LONG/],
  [
    'a long hint in the field for a reply',
    'sendMessage',
    { chat_id: 5001, text: 'x', reply_markup: { force_reply: true, input_field_placeholder: 'x'.repeat(65) } },
    400,
    /placeholder/,
  ],
  [
    'an entity beyond the end',
    'sendMessage',
    { chat_id: 5001, text: 'x', entities: [{ type: 'bold', offset: 0, length: 2 }] },
    400,
    /entities/,
  ],
  [
    'half a character',
    'sendMessage',
    { chat_id: 5001, text: '👍', entities: [{ type: 'bold', offset: 1, length: 1 }] },
    400,
    /entities/,
  ],
  [
    'an unknown reply',
    'sendMessage',
    { chat_id: 5001, text: 'x', reply_parameters: { message_id: 99 } },
    400,
    /replied/,
  ],
  ['an unknown topic', 'sendMessage', { chat_id: 5001, text: 'x', message_thread_id: 3 }, 400, /thread/],
  ['a message that is not there', 'editMessageText', { chat_id: 5001, message_id: 99, text: 'x' }, 400, /not found/],
  ['a command in capitals', 'setMyCommands', { commands: [{ command: 'New', description: 'x' }] }, 400, /COMMAND/],
  ['an unknown button', 'answerCallbackQuery', { callback_query_id: '1' }, 400, /too old/],
])('%s', async (_, method, payload, code, words) => {
  expect(await call(method, payload)).toMatchObject({ ok: false, error_code: code, description: words })
})

test('a wrong token gets 401, a malformed one 404', async () => {
  expect(await call('getMe', {}, '987654321:AAsomething-else')).toMatchObject({ error_code: 401 })
  expect(await call('getMe', {}, 'x')).toMatchObject({ error_code: 404 })
})

test('an edit that changes nothing tells own messages from others', async () => {
  const chat = telegram.alone(telegram.ada)
  const { id } = telegram.say(telegram.ada, chat, 'hello')
  await call('sendMessage', { chat_id: chat.id, text: 'ours' })
  const probe = async (message: number) =>
    (await call('editMessageReplyMarkup', { chat_id: chat.id, message_id: message })).description
  expect(await probe(id)).toContain("can't be edited")
  expect(await probe(id + 1)).toContain('not modified')
  expect(await probe(id + 2)).toContain('not found')
})

test('updates stay until a later one is asked for, and only one may ask', async () => {
  telegram.say(telegram.ada, telegram.alone(telegram.ada), 'one')
  telegram.say(telegram.ada, telegram.alone(telegram.ada), 'two')
  const ids = async (payload: object) =>
    ((await call('getUpdates', payload)).result as unknown as { update_id: number }[]).map(one => one.update_id)
  const [first = 0, second = 0] = await ids({})
  expect(await ids({})).toEqual([first, second])
  expect(await ids({ offset: second })).toEqual([second])
  expect(await ids({ offset: second + 1 })).toEqual([])
  const waiting = call('getUpdates', { offset: second + 1, timeout: 20 })
  await telegram.until(() => telegram.requests('getUpdates').length === 5)
  expect(await ids({ offset: second + 1 })).toEqual([])
  expect(await waiting).toMatchObject({ error_code: 409 })
})

test('whoever writes too fast must wait', async () => {
  const chat_id = telegram.group('Kitchen').id
  const codes: (number | undefined)[] = []
  for (let i = 0; i < 7; i++) codes.push((await call('sendMessage', { chat_id, text: 'x' })).error_code)
  expect(codes[0]).toBeUndefined()
  expect(codes.at(-1)).toBe(429)
})
