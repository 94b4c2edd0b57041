// The hash of Mission Control: the page and what is open on it. `#/activity?event=7`, `#/chat?conversation=a&event=7`.

/** @returns {{ page: string, event: number | null, query: URLSearchParams }} the page may not exist */
export const readAddress = () => {
  const [page = '', written = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const query = new URLSearchParams(written)
  const event = Number(query.get('event'))
  return { page, event: Number.isSafeInteger(event) && event > 0 ? event : null, query }
}

/** @param {string} page @param {URLSearchParams} [query] */
export const addressOf = (page, query = new URLSearchParams()) => {
  const written = query.toString()
  return `#/${page}${written === '' ? '' : `?${written}`}`
}
