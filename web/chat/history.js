// Older messages: loaded in steps on request, and around a message that was opened from the search.
import { getJson } from './api.js'

const pageSize = 100
const context = 20

/**
 * The page holds the newest part of a conversation and as much before it as was loaded. After a jump far back it also holds a
 * separate part, with a gap between that and the rest.
 * @param {{
 *   part: (name: string) => HTMLElement,
 *   conversation: () => string | null,
 *   transcript: { prepend: (messages: any[], requests: any[], work: object) => void, setGap: (there: boolean) => void, dropBeforeGap: () => void, find: (id: string) => any },
 *   keepPlace: (change: () => void) => void,          keeps the visible text where it is on the screen
 *   show: (id: string, role: string) => void,
 *   notify: (words: string) => void,
 * }} options
 * @param {AbortSignal} signal
 */
export const createHistory = ({ part, conversation, transcript, keepPlace, show, notify }, signal) => {
  const button = part('older')
  /** Positions: where the newest part begins, where the shown part begins, and where the gap begins; null: none. */
  let newest = null
  let top = null
  let gap = null
  /** Counts conversations and jumps; responses for an earlier one are dropped. */
  let visit = 0
  let pendingJump = null
  let begun = false
  let busy = false

  const draw = () => {
    if (top === null && document.activeElement === button) part('scroll').focus()
    button.hidden = top === null
    transcript.setGap(gap !== null)
  }
  const load = async query => {
    const mine = visit
    const given = new URLSearchParams({ conversation: conversation() ?? '', ...query })
    const answer = await getJson(`/api/history?${given}`, signal)
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
      if (!signal.aborted && mine === visit) notify(error.message)
    }
    if (mine === visit) setBusy(false)
  }

  const showOlder = () =>
    attempt(async () => {
      const answer = await load({ before: String(top), limit: String(pageSize) })
      if (answer === null) return
      keepPlace(() => transcript.prepend(answer.messages, answer.requests, answer.work))
      top = answer.older
      draw()
    })

  const fillGap = () =>
    attempt(async () => {
      if (gap === null) return
      const answer = await load({ from: String(gap), limit: String(pageSize) })
      if (answer === null) return
      transcript.prepend(answer.messages, answer.requests, answer.work)
      gap = reaches(answer.newer) ? null : answer.newer
      draw()
    })
  const reaches = item => item === null || newest === null || item >= newest

  const jumpTo = ({ id, role, item }) => {
    visit += 1
    return attempt(async () => {
      if (transcript.find(id) === undefined) {
        const [before, after] = await Promise.all([
          load({ before: String(item), limit: String(context) }),
          load({ from: String(item), limit: String(pageSize) }),
        ])
        if (before === null || after === null) return
        if (gap !== null) transcript.dropBeforeGap()
        transcript.prepend([...before.messages, ...after.messages], [before.requests, after.requests].flat(), {
          ...before.work,
          ...after.work,
        })
        top = before.older
        gap = reaches(after.newer) ? null : after.newer
        draw()
      }
      if (transcript.find(id) === undefined) notify('That message is no longer stored.')
      else show(id, role)
    })
  }

  button.addEventListener('click', () => busy || showOlder())

  return {
    fillGap,
    /** Another conversation. */
    reset() {
      visit += 1
      setBusy(false)
      newest = top = gap = pendingJump = null
      begun = false
      draw()
    },
    /** The newest messages have arrived; `older` is where they begin. */
    init(older) {
      // After a reconnect the page still holds what it had.
      if (!begun) newest = top = older
      begun = true
      draw()
      if (pendingJump !== null) jumpTo(pendingJump)
      pendingJump = null
    },
    /** Now, or once the newest messages are there. */
    jumpTo(hit) {
      if (begun) jumpTo(hit)
      else pendingJump = hit
    },
  }
}
