// Asks the first question of the page that most people open while the rest of it is still on its way. Imports nothing, so that it waits for nothing.

/**
 * The response, and what it says; null: no JSON.
 * @param {string} path @param {RequestInit} [options]
 */
export const answerTo = async (path, options) => {
  const response = await fetch(path, { cache: 'no-store', ...options })
  const body = await response.json().catch(() => null) // a proxy may answer with a page
  return { status: response.status, ok: response.ok, body }
}

const isOverview = ['', '#', '#/', '#/overview'].includes(location.hash.split('?')[0])
let first = isOverview ? { path: '/api/overview', answer: answerTo('/api/overview') } : null
first?.answer.catch(() => {}) // whoever takes it is told

/** Longer ago, it tells how it was. */
const freshMs = 5000

/** The answer to the first question, once, if it was this one. */
export const takeFirst = path => {
  if (first?.path !== path) return undefined
  const { answer } = first
  first = null
  return performance.now() < freshMs ? answer : undefined
}
