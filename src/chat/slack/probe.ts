// Checks an app before it is connected: are the tokens valid, may it do what it needs, is Socket Mode on?
import type { ChatProbe, PlaceCheck } from '../../base/chat-module.ts'
import type { Check } from '../../base/check.ts'
import { badAppToken, badBotToken, reinstall, SlackError, socketModeOff, troubleOf } from './errors.ts'
import { isDirect, targetOf } from './message.ts'
import type { SlackOptions } from './options.ts'
import { isTimestamp } from './timestamp.ts'
import { createWeb } from './web.ts'

const patienceMs = 10_000

/** Works whether Slack is enabled or not. Opens no connection: the address that Slack gives for one is not used. */
export async function probeSlack(options: SlackOptions, signal: AbortSignal): Promise<ChatProbe> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
  const [bot, app] = await Promise.all([checkBot(options, patience), checkApp(options, patience)])
  const checks = [...bot, ...app]
  const isBad = checks.some(({ status, detail }) => status === 'fail' && /does not accept/.test(detail))
  const isDown = checks.some(({ status, detail }) => status === 'fail' && /cannot be reached/.test(detail))
  return { type: isBad ? 'bad-token' : isDown ? 'unreachable' : 'good', checks }
}

const name = 'slack'

async function checkBot({ api, botToken }: SlackOptions, signal: AbortSignal): Promise<readonly Check[]> {
  const web = createWeb(api, botToken ?? '')
  try {
    const { user, team } = await web.call<{ user?: string; team?: string }>('auth.test', {}, signal)
    const inChannels = { types: 'public_channel,private_channel', exclude_archived: true, limit: 200 }
    const found = await web.call<{ channels: readonly object[] }>('users.conversations', inChannels, signal)
    const count = found.channels.length
    const where = count === 0 ? 'in no channel yet' : `in ${count} ${count === 1 ? 'channel' : 'channels'}`
    const bot: Check = { name, status: 'ok', detail: `${user ?? 'the bot'} of ${team ?? 'the workspace'}, ${where}` }
    if (count > 0) return [bot]
    return [
      {
        ...bot,
        status: 'warn',
        fix: `Write /invite @${user ?? 'the bot'} in a channel. Direct messages work without it.`,
      },
    ]
  } catch (error) {
    return [failed(error, api, 'Slack does not accept the bot token', badBotToken)]
  }
}

async function checkApp({ api, appToken }: SlackOptions, signal: AbortSignal): Promise<readonly Check[]> {
  try {
    await createWeb(api, appToken ?? '').call('apps.connections.open', {}, signal)
    return []
  } catch (error) {
    // Slack says so if Socket Mode is off.
    if (error instanceof SlackError && error.code === 'forbidden_for_this_app')
      return [{ name, status: 'fail', detail: 'Socket Mode is off', fix: socketModeOff }]
    return [failed(error, api, 'Slack does not accept the app-level token', badAppToken)]
  }
}

function failed(error: unknown, api: string, bad: string, fix: string): Check {
  const trouble = troubleOf(error)
  if (trouble.type === 'token') return { name, status: 'fail', detail: bad, fix }
  if (trouble.type === 'refused') return { name, status: 'fail', detail: trouble.why, fix: `${reinstall}.` }
  return { name, status: 'fail', detail: `${api} cannot be reached (${trouble.why})`, fix: 'Check the network.' }
}

interface ChannelSeen {
  readonly channel: { readonly is_archived?: boolean; readonly is_member?: boolean; readonly is_im?: boolean }
}

/** Whether the bot can write to a channel or thread, asked without connecting and without sending anything. */
export async function checkChannel(
  { api, botToken }: SlackOptions,
  conversation: string,
  signal: AbortSignal,
): Promise<PlaceCheck> {
  const { channel, thread } = targetOf(conversation)
  if (!/^[CDG][A-Z0-9]{2,}$/.test(channel) || (thread !== null && !isTimestamp(thread)))
    return { type: 'refused', why: 'a Slack channel is an id such as C0123456789, which is at the end of its details' }
  const web = createWeb(api, botToken ?? '')
  try {
    const found = await web.call<ChannelSeen>('conversations.info', { channel }, signal)
    if (found.channel.is_archived) return { type: 'refused', why: 'the channel is archived' }
    if (found.channel.is_member === false && !isDirect(channel))
      return { type: 'refused', why: 'I am not in that channel: write /invite and my name there' }
    if (thread !== null) await web.call('conversations.replies', { channel, ts: thread, limit: 1 }, signal)
    return { type: 'writable' }
  } catch (error) {
    const { type, why } = troubleOf(error)
    return type === 'refused' ? { type, why } : { type: 'unknown', why }
  }
}
