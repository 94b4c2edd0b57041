// Assistant threads: Slack's status line, and answers that are streamed word by word.
import type { Clock } from '../../base/time.ts'
import type { Doing } from '../live-drafts.ts'
import { troubleOf } from './errors.ts'
import { isDirect } from './message.ts'
import type { Target } from './poster.ts'
import { harmless, statusOf } from './render.ts'
import type { Web } from './web.ts'

export interface Streams {
  /** Only in threads of direct messages: elsewhere a draft with a Stop button is of more use. */
  canShow(target: Target): boolean
  status(target: Target, doing: Doing): Promise<void>
  /** Starts or continues the stream. Resolves with its timestamp; null: it has to be shown in another way. */
  show(target: Target, ts: string | null, doing: Doing): Promise<string | null>
  /** Ends the stream, if there is one: it is an ordinary message from then on. */
  stop(target: Target, ts: string): Promise<void>
  /** Shows that we are working until the signal aborts. */
  keepStatus(target: Target, signal: AbortSignal): Promise<void>
}

/** Slack clears the status after two minutes. */
const statusEveryMs = 60_000
const retryMs = 5000
/** Slack limits the whole text of a stream. */
const mostText = 11_000

export function createStreams(web: Web, clock: Clock): Streams {
  /** Texts that are shown so far, by their timestamp. */
  const shown = new Map<string, string>()
  /** Slack, or a compatible server, does not know these methods. */
  let unknown = false

  const setStatus = ({ channel, thread }: Target, status: string, signal?: AbortSignal) =>
    web.call('assistant.threads.setStatus', { channel_id: channel, thread_ts: thread, status }, signal)

  async function stop({ channel }: Target, ts: string): Promise<void> {
    if (!shown.delete(ts) && unknown) return
    try {
      await web.call('chat.stopStream', { channel, ts })
    } catch (error) {
      // It was no stream, or has ended before.
      if (troubleOf(error).type !== 'refused') throw error
    }
  }

  return {
    canShow: ({ channel, thread }) => !unknown && thread !== null && isDirect(channel),
    stop,

    async status(target, doing) {
      const status = statusOf(doing)
      if (status !== '') await setStatus(target, status.slice(0, 100)).catch(() => undefined)
    },

    async show(target, ts, { text }) {
      const { channel, thread } = target
      const so = ts === null ? '' : shown.get(ts)
      // After a restart, or if the text was changed in the middle, it can only be replaced.
      if (so === undefined || !text.startsWith(so) || text.length > mostText) {
        if (ts !== null) await stop(target, ts)
        return null
      }
      const news = harmless(text.slice(so.length))
      if (news === '') return ts
      try {
        if (ts !== null) await web.call('chat.appendStream', { channel, ts, markdown_text: news })
        const started =
          ts ??
          (await web.call<{ ts: string }>('chat.startStream', { channel, thread_ts: thread, markdown_text: news })).ts
        shown.set(started, text)
        return started
      } catch (error) {
        if (troubleOf(error).type !== 'refused') throw error
        unknown ||= ts === null
        return null
      }
    },

    async keepStatus(target, signal) {
      if (target.thread === null) return
      let set = false
      while (!signal.aborted) {
        try {
          await setStatus(target, 'is thinking…', signal)
          set = true
        } catch (error) {
          // Not an assistant thread: the draft shows that we are working.
          if (troubleOf(error).type !== 'passing') break
        }
        await clock.sleep(set ? statusEveryMs : retryMs, signal)
      }
      if (set) await setStatus(target, '').catch(() => undefined)
    },
  }
}
