// The live draft: what the agent has said so far, shown at the platform's pace. It may lose anything; finals may not.

import type { Live } from '../base/agent.ts'
import type { ChatAdapter, MessageRef, Outgoing } from '../base/chat.ts'
import { isBackground, type NewEvent, type Place } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { Tell } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'

type Action = NonNullable<Outgoing['action']>

const silent: Live = { text: () => undefined, action: () => undefined, close: async () => undefined }

/** A live view for each event; a silent one where nobody waits for the answer, which may turn out to be silence. */
export function openDrafts(chats: ReadonlyMap<string, ChatAdapter>, clock: Clock, tell: Tell) {
  return ({ key, lane, item: { replyTo, what } }: Pick<Taken<NewEvent>, 'key' | 'lane' | 'item'>): Live => {
    const chat = replyTo ? chats.get(replyTo.chat) : undefined
    if (!chat || !replyTo || isBackground(lane)) return silent
    return openDraft(chat, replyTo, what.kind === 'message' ? what.id : null, `${key}#draft`, clock, tell)
  }
}

function openDraft(chat: ChatAdapter, place: Place, about: string | null, key: string, clock: Clock, tell: Tell): Live {
  const over = new AbortController()
  const actions: Action[] = []
  let text = ''
  let shown: string | null = null
  let ref: MessageRef | null = null
  let showing: Promise<void> | null = null

  const show = async (action: Action | null) => {
    const message: Outgoing = { key, kind: 'draft', about, text, ok: true, action }
    if (ref) return chat.edit(ref, message, over.signal)
    const posted = await chat.post(place, message, over.signal)
    if (posted.type === 'posted') ref = posted.ref
  }

  /** Runs while there is news, one step per pause; what comes meanwhile is shown together. */
  const keepShowing = async () => {
    try {
      while (!over.signal.aborted && (actions.length > 0 || text !== shown)) {
        for (const action of actions.splice(0)) await show(action)
        if (text !== shown) {
          shown = text
          await show(null)
        }
        await clock.sleep(chat.limits.editEveryMs ?? 0, over.signal)
      }
    } catch (error) {
      if (!over.signal.aborted)
        tell({ type: 'draft-lost', place, why: error instanceof Error ? error.message : String(error) })
    } finally {
      showing = null
    }
  }
  const nudge = () => {
    // Without news `keepShowing` would be over before `showing` holds it, and nothing would be shown ever after.
    const news = actions.length > 0 || text !== shown
    if (news && chat.limits.editEveryMs !== null && !over.signal.aborted) showing ??= keepShowing()
  }

  void chat.typing(place, over.signal).catch(error => tell({ type: 'draft-lost', place, why: String(error) }))
  // An empty draft first: it says that the answer has begun.
  nudge()
  return {
    text(delta: string) {
      text += delta
      nudge()
    },
    action(label: string, phase: Action['phase']) {
      actions.push({ label, phase })
      nudge()
    },
    async close() {
      over.abort('over')
      await showing
    },
  }
}
