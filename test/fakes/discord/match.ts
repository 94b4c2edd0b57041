// Matches requests by the pattern of a test.
import type { Match } from './types.ts'

/** Turns `POST /channels/:id/messages` or a RegExp into a predicate. */
export const matcher = (match: Match): ((method: string, path: string) => boolean) => {
  if (match instanceof RegExp) return (method, path) => match.test(`${method} ${path}`)
  const source = match.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')
  const pattern = new RegExp(`^${source}$`)
  return (method, path) => pattern.test(`${method} ${path.split('?')[0] ?? ''}`)
}
