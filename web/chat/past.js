// What was said before the page begins: loaded piece by piece on request, and around a message that was searched for.
import { ask } from './ask.js'

const stretch = 100
const context = 20

/**
 * The page holds the newest part of a conversation, more and more of what came before, and, after a leap far back, a part of its own
 * with a gap behind it.
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   conversation: () => string | null,
 *   talk: { prepend: (messages: any[]) => void, setGap: (there: boolean) => void, dropBeforeGap: () => void, find: (id: string) => any },
 *   keepPlace: (change: () => void) => void,          the message that one reads stays where it is on the screen
 *   show: (id: string, role: string) => void,
 *   tell: (words: string) => void,
 * }} options
 * @param {AbortSignal} signal
 */
export const openPast = ({ part, conversation, talk, keepPlace, show, tell }, signal) => {
  const button = part('older')
  /** Where the newest part begins, where what is shown begins, and where the gap does; null: there is none. */
  let newest = null
  let top = null
  let gap = null
  /** Which conversation this is about, and which leap in it; what comes for an earlier one is for nobody. */
  let visit = 0
  let sought = null
  let begun = false
  let busy = false

  const draw = () => {
    if (top === null && document.activeElement === button) part('scroll').focus()
    button.hidden = top === null
    talk.setGap(gap !== null)
  }
  const load = async query => {
    const mine = visit
    const given = new URLSearchParams({ conversation: conversation() ?? '', ...query })
    const answer = await ask(`/api/history?${given}`, signal)
    return mine === visit ? answer : null
  }
  /** Not `disabled`: that would drop the focus. */
  const setBusy = now => {
    busy = now
    button.setAttribute('aria-disabled', String(now))
  }
  const attempt = async work => {
    const mine = visit
    setBusy(true)
    try {
      await work()
    } catch (error) {
      if (!signal.aborted && mine === visit) tell(error.message)
    }
    if (mine === visit) setBusy(false)
  }

  const showOlder = () =>
    attempt(async () => {
      const answer = await load({ before: String(top), limit: String(stretch) })
      if (answer === null) return
      keepPlace(() => talk.prepend(answer.messages))
      top = answer.older
      draw()
    })

  const fillGap = () =>
    attempt(async () => {
      if (gap === null) return
      const answer = await load({ from: String(gap), limit: String(stretch) })
      if (answer === null) return
      talk.prepend(answer.messages)
      gap = reaches(answer.newer) ? null : answer.newer
      draw()
    })
  const reaches = item => item === null || newest === null || item >= newest

  const seek = ({ id, role, item }) => {
    visit += 1
    return attempt(async () => {
      if (talk.find(id) === undefined) {
        const [before, after] = await Promise.all([
          load({ before: String(item), limit: String(context) }),
          load({ from: String(item), limit: String(stretch) }),
        ])
        if (before === null || after === null) return
        if (gap !== null) talk.dropBeforeGap()
        talk.prepend([...before.messages, ...after.messages])
        top = before.older
        gap = reaches(after.newer) ? null : after.newer
        draw()
      }
      if (talk.find(id) === undefined) tell('That message is not kept any more.')
      else show(id, role)
    })
  }

  button.addEventListener('click', () => busy || showOlder())

  return {
    fillGap,
    /** Another conversation. */
    leave() {
      visit += 1
      setBusy(false)
      newest = top = gap = sought = null
      begun = false
      draw()
    },
    /** The gateway has told what was said last, and where that begins. */
    begin(older) {
      // After a break the page still holds what it had.
      if (!begun) newest = top = older
      begun = true
      draw()
      if (sought !== null) seek(sought)
      sought = null
    },
    /** Now, or once it is known what is here. */
    seek(hit) {
      if (begun) seek(hit)
      else sought = hit
    },
  }
}
