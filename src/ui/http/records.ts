// The API of the owner's records: facts, tasks and content items. The same for all three; record-bodies.ts has the differences.
import type { Fields, Records } from '../../base/records.ts'
import type { HttpLimits, OwnersRecords } from './options.ts'
import type { RecordBodies } from './record-bodies.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, readonly Route[]>>

export const recordRoutes = ({ brain, tasks, content }: OwnersRecords, { bodyBytes }: HttpLimits): Routes => ({
  '/api/brain': routesTo('fact', brain, async () => (await bodies()).factBodies, bodyBytes),
  '/api/tasks': routesTo('task', tasks, async () => (await bodies()).taskBodies, bodyBytes),
  '/api/content': routesTo('content item', content, async () => (await bodies()).contentBodies, bodyBytes),
})

const routesTo = <One extends { readonly id: string }>(
  what: string,
  records: Records<One>,
  bodies: () => Promise<RecordBodies<Fields<One>>>,
  bodyBytes: number,
): readonly Route[] => {
  const gone = (exchange: Exchange) => replyError(exchange, 404, `There is no such ${what} (any more).`)
  return [
    route('GET', async exchange => replyJson(exchange, 200, { items: await records.list() })),
    route('POST', async exchange => {
      const restore = exchange.url.searchParams.get('restore')
      if (restore !== null) {
        const item = await records.restore(restore)
        return item ? replyJson(exchange, 200, { item, items: await records.list() }) : gone(exchange)
      }
      const body = await (await bodies()).readNew(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const item = await records.add(body.value)
      replyJson(exchange, 201, { item, items: await records.list() })
    }),
    route('PATCH', async exchange => {
      const id = idOf(exchange)
      if (id === null) return
      const body = await (await bodies()).readChange(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const { change, was = {} } = body.value
      const revision = await records.change(id, change, was)
      if (revision.type === 'gone') return gone(exchange)
      if (revision.type === 'changed') return replyJson(exchange, 200, { item: revision.item })
      const error = `Somebody else has changed this ${what} in the meantime. Nothing was written.`
      replyJson(exchange, 409, { error, item: revision.item })
    }),
    route('DELETE', async exchange => {
      const id = idOf(exchange)
      if (id === null) return
      const item = await records.remove(id)
      if (item) replyJson(exchange, 200, { removed: true, item })
      else gone(exchange)
    }),
  ]
}

const bodies = () => import('./record-bodies.ts')

const route = (method: Route['method'], answer: (exchange: Exchange) => Promise<void>): Route => ({
  method,
  access: 'token',
  answer,
})

/** Null if it is missing; then the error has been sent. */
const idOf = (exchange: Exchange): string | null => {
  const id = exchange.url.searchParams.get('id') ?? ''
  if (id !== '') return id
  replyError(exchange, 400, 'Say which one: ?id=…')
  return null
}
