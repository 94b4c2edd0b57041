// Starts something at the first call and shares the result with all callers.

/** An error is cached like a result. */
export function once<T>(begin: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | null = null
  return () => {
    begun ??= begin()
    return begun
  }
}
