// Which requests a test means.
import type { Match } from './types.ts'

/** `POST /channels/:id/messages` or a RegExp, as a question about one request. */
export const matcher = (match: Match): ((method: string, path: string) => boolean) => {
  if (match instanceof RegExp) return (method, path) => match.test(`${method} ${path}`)
  const source = match.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')
  const pattern = new RegExp(`^${source}$`)
  return (method, path) => pattern.test(`${method} ${path.split('?')[0] ?? ''}`)
}
