// Questions to the gateway over HTTP, and words for what goes wrong.

/** @param {string} path @param {AbortSignal} signal rejects with words that can be shown */
export const ask = async (path, signal) => {
  let response
  try {
    response = await fetch(path, { cache: 'no-store', signal })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Error('The gateway cannot be reached.')
  }
  const body = await response.json().catch(() => null) // a proxy may answer with a page
  if (response.ok && body !== null) return body
  throw new Error(typeof body?.error === 'string' ? body.error : `The gateway could not do that (${response.status}).`)
}
