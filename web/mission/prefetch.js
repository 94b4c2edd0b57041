// Requests the data of the overview while the rest of the page is still loading. Imports nothing, so that it can run first.

/**
 * The response with its parsed body; null: not JSON.
 * @param {string} path @param {RequestInit} [options]
 */
export const fetchJson = async (path, options) => {
  const response = await fetch(path, { cache: 'no-store', ...options })
  const body = await response.json().catch(() => null) // a proxy may answer with an HTML page
  return { status: response.status, ok: response.ok, body }
}

const isOverview = ['', '#', '#/', '#/overview'].includes(location.hash.split('?')[0])
let prefetched = isOverview ? { path: '/api/overview', answer: fetchJson('/api/overview') } : null
prefetched?.answer.catch(() => {}) // handled by the caller of takePrefetched

/** Older data is stale and is requested again. */
const freshMs = 5000

/** The prefetched response for this path, once. */
export const takePrefetched = path => {
  if (prefetched?.path !== path) return undefined
  const { answer } = prefetched
  prefetched = null
  return performance.now() < freshMs ? answer : undefined
}
