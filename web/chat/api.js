// GET requests to the gateway, with error messages that can be shown.

/** @param {string} path @param {AbortSignal} signal rejects with an error whose message can be shown */
export const getJson = async (path, signal) => {
  let response
  try {
    response = await fetch(path, { cache: 'no-store', signal })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Error('Cannot reach the gateway.')
  }
  const body = await response.json().catch(() => null) // a proxy may answer with an HTML page
  if (response.ok && body !== null) return body
  throw new Error(typeof body?.error === 'string' ? body.error : `The request failed (${response.status}).`)
}
