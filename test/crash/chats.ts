// The crash campaigns on the remote chats: the types require one for each.
import type { RemoteChat } from '../../src/base/remote-chats.ts'
import { runDiscordCampaign } from './discord.ts'
import { runSlackCampaign } from './slack.ts'
import { runTelegramCampaign } from './telegram.ts'

export interface ChatCampaign {
  readonly said: number
  readonly answered: number
  readonly failed: number
  /** Empty: all guarantees were kept. */
  readonly broken: readonly string[]
}

export type RunChatCampaign = (options: { readonly kills: number; readonly seed: number }) => Promise<ChatCampaign>

export const chatCampaigns: Readonly<Record<RemoteChat, RunChatCampaign>> = {
  discord: runDiscordCampaign,
  telegram: runTelegramCampaign,
  slack: runSlackCampaign,
}

export function campaignOn(chat: string): RunChatCampaign {
  const found = Object.entries(chatCampaigns).find(([name]) => name === chat)
  if (!found) throw new Error(`--chat takes one of ${Object.keys(chatCampaigns).join(', ')}`)
  return found[1]
}
