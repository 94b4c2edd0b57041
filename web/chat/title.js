// A mark before the title of the page, whatever page that is: something came while nobody looked.

const mark = '● '

/** @param {AbortSignal} signal */
export const openTitle = signal => {
  const seen = () => {
    if (!document.hidden && document.title.startsWith(mark)) document.title = document.title.slice(mark.length)
  }
  document.addEventListener('visibilitychange', seen, { signal })
  return {
    seen,
    came() {
      if (document.hidden && !document.title.startsWith(mark)) document.title = mark + document.title
    },
  }
}
