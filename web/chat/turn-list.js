// The list of turns on the page: drawn at most once per frame while text streams in, scrolled to the end unless the reader has scrolled up.
import { turnView } from './turn.js'

/** @param {{ part: (name: string) => HTMLElement, turns: () => any[], handlers: object }} options @param {AbortSignal} signal */
export const createTurnList = ({ part, turns, handlers }, signal) => {
  const list = part('log')
  const scroll = part('scroll')
  const toEnd = part('to-end')
  const views = new Map()
  const dirty = new Set()
  let scheduled = false
  let atEnd = true
  let lastTop = 0

  const isAtEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40
  const follow = () => {
    if (atEnd) scroll.scrollTop = scroll.scrollHeight
    toEnd.hidden = atEnd
  }
  const goToEnd = () => {
    atEnd = true
    follow()
  }

  const draw = turn => {
    let view = views.get(turn.id)
    if (view === undefined) {
      view = turnView(turn.id, handlers)
      views.set(turn.id, view)
      list.append(view.element)
    }
    view.update(turn)
  }

  const drawDirty = () => {
    if (signal.aborted) return
    const began = performance.now()
    for (const turn of dirty) draw(turn)
    dirty.clear()
    follow()
    // A very long draft on a slow machine: three quarters of the time are left for everything else.
    setTimeout(
      () => {
        scheduled = false
        if (dirty.size > 0) schedule()
      },
      3 * (performance.now() - began),
    )
  }
  const schedule = () => {
    if (scheduled) return
    scheduled = true
    requestAnimationFrame(drawDirty)
  }

  scroll.addEventListener('scroll', () => {
    // Only scrolling up leaves the end: a growing message box or an appearing banner moves it as well.
    if (isAtEnd()) atEnd = true
    else if (scroll.scrollTop < lastTop) atEnd = false
    lastTop = scroll.scrollTop
    toEnd.hidden = atEnd
  })
  // Someone who expands a message wants to read it, and not to be scrolled to the end by the next word.
  list.addEventListener('click', event => {
    if (event.target.closest('.more') !== null) atEnd = isAtEnd()
    toEnd.hidden = atEnd
  })
  const resized = new ResizeObserver(follow)
  resized.observe(scroll)
  signal.addEventListener('abort', () => resized.disconnect())
  toEnd.addEventListener('click', goToEnd)

  const showWelcome = () => {
    part('welcome').hidden = turns().length > 0
  }

  return {
    goToEnd,
    /** Runs a change above the visible part without moving the text on screen. */
    keepPlace(change) {
      const fromEnd = scroll.scrollHeight - scroll.scrollTop
      atEnd = false
      change()
      scroll.scrollTop = scroll.scrollHeight - fromEnd
    },
    focus: id => views.get(id)?.focus(),
    show(id, role) {
      atEnd = false
      views.get(id)?.show(role)
      toEnd.hidden = isAtEnd()
    },
    changed(turn) {
      showWelcome()
      // Drafts may wait for the next frame (a hidden tab has none); everything else is drawn immediately.
      if (turn.state === 'running' && views.has(turn.id)) {
        dirty.add(turn)
        schedule()
      } else {
        dirty.delete(turn)
        draw(turn)
        follow()
      }
    },
    reordered() {
      const ids = new Set(turns().map(turn => turn.id))
      for (const [id, view] of views) {
        if (ids.has(id)) continue
        view.element.remove()
        views.delete(id)
      }
      dirty.clear()
      turns().forEach((turn, index) => {
        draw(turn)
        const { element } = views.get(turn.id)
        if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null)
      })
      showWelcome()
      follow()
    },
  }
}
