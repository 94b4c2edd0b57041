// The live draft: the answer so far, shown at the platform's pace. Drafts may be lost; finals may not.

import type { Live } from '../base/agent.ts'
import type { ChatAdapter, MessageRef, Outgoing } from '../base/chat.ts'
import { isBackground, type LaneKey, type NewEvent, type Place } from '../base/event.ts'
import type { Taken } from '../base/lanes.ts'
import type { Emit } from '../base/signal.ts'
import type { Clock } from '../base/time.ts'
import { errorText } from '../base/unknown.ts'

type Action = NonNullable<Outgoing['action']>

const silent: Live = { text: () => undefined, action: () => undefined, close: async () => undefined }

/** A live view for each event. Silent for background events: nobody waits, and there may be no answer. */
export function createDrafts(
  chats: ReadonlyMap<string, ChatAdapter>,
  clock: Clock,
  emit: Emit,
  isQuiet: (lane: LaneKey) => boolean,
) {
  return ({ key, lane, item: { replyTo, what } }: Pick<Taken<NewEvent>, 'key' | 'lane' | 'item'>): Live => {
    const chat = replyTo ? chats.get(replyTo.chat) : undefined
    if (!chat || !replyTo || isBackground(lane)) return silent
    const live = openDraft(chat, replyTo, what.kind === 'message' ? what.id : null, `${key}#draft`, clock, emit)
    if (!isQuiet(lane)) return live
    return { ...live, action: (label, phase, waits) => waits && live.action(label, phase) }
  }
}

function openDraft(chat: ChatAdapter, place: Place, about: string | null, key: string, clock: Clock, emit: Emit): Live {
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

  /** Runs while there is something new, one step per pause. News that arrives during a pause is shown together. */
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
      if (!over.signal.aborted) emit({ type: 'draft-lost', place, why: errorText(error) })
    } finally {
      showing = null
    }
  }
  const nudge = () => {
    // Without news, `keepShowing` would end before `showing` is assigned, and nothing would ever be shown again.
    const news = actions.length > 0 || text !== shown
    if (news && chat.limits.editEveryMs !== null && !over.signal.aborted) showing ??= keepShowing()
  }

  void chat.typing(place, over.signal).catch(error => emit({ type: 'draft-lost', place, why: String(error) }))
  // An empty draft first: it shows that the answer has started.
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
