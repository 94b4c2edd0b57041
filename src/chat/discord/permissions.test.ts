// Where the bot may read.
import { expect, test } from 'vitest'
import { type ChannelGiven, type GuildGiven, readableIn } from './permissions.ts'

const [view, history, admin] = [1n << 10n, 1n << 16n, 1n << 3n]
const both = String(view | history)
const us = 'us'

const guild = (given: { everyone?: string; own?: string; owner?: string; channels?: ChannelGiven[] }): GuildGiven => ({
  id: 'g',
  owner_id: given.owner ?? 'somebody',
  roles: [
    { id: 'g', permissions: given.everyone ?? both },
    { id: 'bot', permissions: given.own ?? '0' },
    { id: 'other', permissions: String(admin) },
  ],
  members: [{ user: { id: us }, roles: ['bot'] }],
  channels: given.channels ?? [],
})

const channel = (...said: [id: string, allow: string, deny: string][]): ChannelGiven => ({
  ...{ id: 'c', type: 0 },
  permission_overwrites: said.map(([id, allow, deny]) => ({ id, allow, deny })),
})

test.each<[string, GuildGiven, ChannelGiven, boolean]>([
  ['everybody may', guild({}), channel(), true],
  ['nobody may', guild({ everyone: '0' }), channel(), false],
  ['we may, by our role', guild({ everyone: '0', own: both }), channel(), true],
  ['only to see it is not enough', guild({ everyone: String(view) }), channel(), false],
  ['closed to everybody here', guild({}), channel(['g', '0', String(view)]), false],
  ['closed to everybody, open to our role', guild({}), channel(['bot', both, '0'], ['g', '0', both]), true],
  ['open to a role that is not ours', guild({}), channel(['other', both, '0'], ['g', '0', both]), false],
  ['open to our role, closed to us', guild({}), channel(['us', '0', both], ['bot', both, '0']), false],
  ['closed to our role, open to us', guild({}), channel(['us', both, '0'], ['bot', '0', both]), true],
  ['closed, but we are an administrator', guild({ own: String(admin) }), channel(['us', '0', both]), true],
  ['closed, but the guild is ours', guild({ owner: us }), channel(['g', '0', both]), true],
  ['our own member is not listed', { ...guild({ everyone: '0' }), members: [] }, channel(), true],
  ['the roles are not listed', { ...guild({ everyone: '0' }), roles: [] }, channel(), true],
  ['a forum', guild({}), { id: 'f', type: 15 }, false],
])('%s', (_, there, where, may) => {
  expect(readableIn(there, us)(where)).toBe(may)
})

test('a thread has the permissions of its parent channel', () => {
  const thread = { id: 't', type: 11, parent_id: 'c' }
  expect(readableIn(guild({ channels: [channel(['g', '0', both])] }), us)(thread)).toBe(false)
  expect(readableIn(guild({ channels: [channel()] }), us)(thread)).toBe(true)
})
