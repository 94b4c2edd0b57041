// The names of people and channels, asked for once.
import type { Web } from './web.ts'

export interface Directory {
  /** Names that cannot be found out are replaced by the id. */
  user(id: string): Promise<string>
  /** Null: a direct message. */
  channel(id: string): Promise<string | null>
  learnChannel(id: string, name: string | null): void
  /** Something about it has changed. */
  forget(id: string): void
}

interface Profile {
  readonly user: {
    readonly name?: string
    readonly real_name?: string
    readonly profile?: { readonly display_name?: string; readonly real_name?: string }
  }
}
interface ChannelSeen {
  readonly channel: { readonly name?: string; readonly is_im?: boolean }
}

const most = 5000
/** A name is not worth a long wait; Slack expects to hear from us within three seconds. */
const patienceMs = 1500

export function createDirectory(web: Web, trouble: (error: unknown) => void): Directory {
  const known = new Map<string, string | null>()
  const asking = new Map<string, Promise<string | null>>()

  async function find(id: string, ask: (signal: AbortSignal) => Promise<string | null>): Promise<string | null> {
    const name = known.get(id)
    if (name !== undefined) return name
    const running = asking.get(id) ?? ask(AbortSignal.timeout(patienceMs))
    asking.set(id, running)
    try {
      const found = await running
      if (known.size >= most) known.clear()
      known.set(id, found)
      return found
    } catch (error) {
      trouble(error)
      return id
    } finally {
      asking.delete(id)
    }
  }

  return {
    user: async id =>
      (await find(id, async signal => {
        const { user } = await web.call<Profile>('users.info', { user: id }, signal)
        return user.profile?.display_name || user.profile?.real_name || user.real_name || user.name || id
      })) ?? id,
    channel: id =>
      id.startsWith('D')
        ? Promise.resolve(null)
        : find(id, async signal => {
            const { channel } = await web.call<ChannelSeen>('conversations.info', { channel: id }, signal)
            return channel.is_im ? null : (channel.name ?? id)
          }),
    learnChannel: (id, name) => void known.set(id, name),
    forget: id => void known.delete(id),
  }
}
