// Waits for an abort signal.

/**
 * Resolves when the signal aborts, or immediately if it already has. The listener stays until then, so use it only with a signal that
 * ends with its waiter.
 */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
