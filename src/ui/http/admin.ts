// The owner's admin API: jobs, sessions, memory, sub-agents.
import type { MemoryLog, MemorySearch } from '../../base/memory.ts'
import type { PermissionsAdmin } from '../../base/permissions.ts'
import type { Request, RequestState, RequestsAdmin } from '../../base/requests.ts'
import type { AdminApi, HttpLimits } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, Route | readonly Route[]>>

type AdminParts = Pick<AdminApi, 'jobs' | 'sessions' | 'memory' | 'subagents' | 'requests' | 'permissions'>

export const adminRoutes = (
  { jobs, sessions, memory, subagents, requests, permissions }: AdminParts,
  { bodyBytes }: HttpLimits,
): Routes => ({
  '/api/jobs': [
    get(async () => jobs.list()),
    post(async exchange => {
      const { readJobOrder } = await bodies()
      const body = await readJobOrder(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const { add, pause, paused = true, remove, run = '' } = body.value
      if (add !== undefined) replyResult(exchange, await jobs.add(add))
      else if (pause !== undefined) replyResult(exchange, await jobs.pause(pause, paused))
      else if (remove !== undefined) replyResult(exchange, await jobs.remove(remove))
      else replyResult(exchange, await jobs.run(run))
    }),
  ],
  '/api/sessions': [
    {
      method: 'GET',
      access: 'token',
      async answer(exchange) {
        const most = readLimit(exchange, 100, 1000)
        if (most === null) return
        const page = await sessions.list(most, exchange.url.searchParams.get('after') ?? undefined)
        if (page) replyJson(exchange, 200, page)
        else replyError(exchange, 400, '"after" must be the "next" of the page before.')
      },
    },
    post(async exchange => {
      const { readClear } = await bodies()
      const body = await readClear(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      replyResult(exchange, await sessions.clear(body.value.clear))
    }),
  ],
  ...memoryRoutes(memory, bodyBytes),
  ...requestRoutes(requests, bodyBytes),
  ...permissionRoutes(permissions, bodyBytes),
  '/api/agents': [
    get(async () => ({ agents: await subagents.list() })),
    post(async exchange => {
      const { readStop } = await bodies()
      const body = await readStop(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const stopped = await subagents.stop(body.value.stop)
      replyResult(exchange, stopped ? { ok: true } : { ok: false, why: 'It is not running any more.' })
    }),
  ],
})

const memoryRoutes = (memory: MemorySearch & MemoryLog, bodyBytes: number): Routes => ({
  '/api/memory': [
    {
      method: 'GET',
      access: 'token',
      async answer(exchange) {
        const query = exchange.url.searchParams.get('q')?.trim() ?? ''
        const most = readLimit(exchange, 10, 100)
        if (most === null) return
        if (query === '' || query.length > 1000)
          return replyError(exchange, 400, 'Say what to look for, in 1 to 1000 characters: ?q=…')
        replyJson(exchange, 200, { hits: await memory.search(query, most) })
      },
    },
    post(async exchange => {
      const { readMemoryOrder } = await bodies()
      const body = await readMemoryOrder(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const { undo, approve, deny, sync } = body.value
      if (undo !== undefined) replyResult(exchange, await memory.undo(undo))
      else if (approve !== undefined) replyResult(exchange, await memory.approve(approve))
      else if (deny !== undefined) replyResult(exchange, await memory.deny(deny))
      else if (sync) replyJson(exchange, 200, await memory.sync())
    }),
  ],
  '/api/memory/log': {
    method: 'GET',
    access: 'token',
    async answer(exchange) {
      const most = readLimit(exchange, 20, 1000)
      if (most !== null) replyJson(exchange, 200, { changes: await memory.list(most) })
    },
  },
})

/** Only the owner has the token. */
const requestRoutes = (requests: RequestsAdmin, bodyBytes: number): Routes => ({
  '/api/requests': [
    {
      method: 'GET',
      access: 'token',
      async answer(exchange) {
        const [which, before, id] = ['state', 'before', 'id'].map(name => exchange.url.searchParams.get(name))
        if (id) return replyOne(exchange, /^\d{1,15}$/.test(id) ? requests.find(Number(id)) : null)
        if (which !== null && which !== 'open' && which !== 'all')
          return replyError(exchange, 400, '"state" must be "open" or "all".')
        if (before && !/^\d{1,15}$/.test(before))
          return replyError(exchange, 400, '"before" must be the id of a request.')
        replyJson(exchange, 200, { requests: requests.list(which ?? 'open', before ? Number(before) : undefined) })
      },
    },
    post(async exchange => {
      const { readDecision } = await bodies()
      const body = await readDecision(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const { id, ...given } = body.value
      const decision = given.allow ? given : ({ allow: false, message: given.message ?? '' } as const)
      const result = await requests.decide(id, decision, 'owner')
      switch (result.type) {
        case 'answered':
          return replyJson(exchange, 200, { ok: true, request: result.request })
        case 'late':
          return replyJson(exchange, 409, { ok: false, why: lateWords[result.request.state], request: result.request })
        case 'unknown':
          return replyError(exchange, 404, `There is no request ${id}.`)
        case 'refused':
          return replyError(exchange, 400, result.why)
        default:
          return result satisfies never
      }
    }),
  ],
})

const permissionRoutes = (permissions: PermissionsAdmin, bodyBytes: number): Routes => ({
  '/api/permissions': [
    get(async () => permissions.list()),
    post(async exchange => {
      const { readRuleOrder } = await bodies()
      const body = await readRuleOrder(exchange.request, bodyBytes)
      if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
      const { add, remove } = body.value
      if (add) replyResult(exchange, await permissions.add({ ...anywhere, ...add }))
      else if (remove) replyResult(exchange, await permissions.remove({ ...anywhere, ...remove }))
    }),
  ],
})

const anywhere = { conversation: null, project: null }

const replyOne = (exchange: Exchange, request: Request | null): void =>
  request === null ? replyError(exchange, 404, 'There is no such request.') : replyJson(exchange, 200, { request })

const lateWords: Readonly<Record<RequestState, string>> = {
  open: 'It could not be answered; try again.',
  allowed: 'It has been allowed already.',
  denied: 'It has been denied already.',
  expired: 'It has expired: nobody answered in time.',
  withdrawn: 'It is not needed any more.',
}

const bodies = () => import('./admin-bodies.ts')

const get = (read: () => Promise<object>): Route => ({
  method: 'GET',
  access: 'token',
  answer: async exchange => replyJson(exchange, 200, await read()),
})

const post = (answer: (exchange: Exchange) => Promise<void>): Route => ({ method: 'POST', access: 'token', answer })

const replyResult = (exchange: Exchange, result: { readonly ok: boolean; readonly why?: string }): void =>
  replyJson(exchange, result.ok ? 200 : 400, result)

/** Null if it is invalid; then the error has been sent. */
const readLimit = (exchange: Exchange, usual: number, most: number): number | null => {
  const written = exchange.url.searchParams.get('limit')
  const limit = written === null ? usual : /^\d{1,6}$/.test(written) ? Number(written) : 0
  if (limit >= 1 && limit <= most) return limit
  replyError(exchange, 400, `"limit" must be a number from 1 to ${most}.`)
  return null
}
