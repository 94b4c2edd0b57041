// A dot before the page title: an answer arrived while the tab was hidden.

const dot = '● '

/** @param {AbortSignal} signal */
export const createTitleMarker = signal => {
  const clear = () => {
    if (!document.hidden && document.title.startsWith(dot)) document.title = document.title.slice(dot.length)
  }
  document.addEventListener('visibilitychange', clear, { signal })
  return {
    clear,
    mark() {
      if (document.hidden && !document.title.startsWith(dot)) document.title = dot + document.title
    },
  }
}
