// The API of the files that define the agent, and of its skills.
import { mostFileBytes, type OwnFiles, type SkillsAdmin } from '../../base/files.ts'
import type { AdminApi } from './options.ts'
import { type Exchange, replyError, replyJson } from './reply.ts'
import type { Route } from './route.ts'

type Routes = Readonly<Record<string, Route | readonly Route[]>>

/** As JSON a text is longer: each line break takes two characters. */
const mostBodyBytes = 2 * mostFileBytes + 64 * 1024

export const fileRoutes = ({ files, skills }: Pick<AdminApi, 'files' | 'skills'>): Routes => ({
  '/api/skills': listing(skills),
  '/api/files': {
    method: 'GET',
    access: 'token',
    answer: async exchange => replyJson(exchange, 200, { files: await files.list() }),
  },
  '/api/file': [
    { method: 'GET', access: 'token', answer: exchange => readFile(exchange, files) },
    { method: 'POST', access: 'token', answer: exchange => writeFile(exchange, files) },
  ],
})

const listing = (skills: SkillsAdmin): Route => ({
  method: 'GET',
  access: 'token',
  answer: async exchange => replyJson(exchange, 200, await skills.list()),
})

const readFile = async (exchange: Exchange, files: OwnFiles): Promise<void> => {
  const name = exchange.url.searchParams.get('name') ?? ''
  const read = await files.read(name)
  if (read.type === 'unknown') return replyError(exchange, 404, noSuchFile)
  if (read.type === 'unusable') return replyError(exchange, 400, read.why)
  replyJson(exchange, 200, { name, text: read.text, version: read.version })
}

const writeFile = async (exchange: Exchange, files: OwnFiles): Promise<void> => {
  const { readFileOrder } = await import('./admin-bodies.ts')
  const body = await readFileOrder(exchange.request, mostBodyBytes)
  if (body.type === 'unusable') return replyError(exchange, body.status, body.why)
  const { name, text, version } = body.value
  if (text !== null && Buffer.byteLength(text) > mostFileBytes)
    return replyError(exchange, 413, 'The text is longer than 1 MB.')
  const written = await files.write(name, text, version)
  switch (written.type) {
    case 'written':
      return replyJson(exchange, 200, { version: written.version, change: written.change })
    case 'stale': {
      const error = `${name} was changed in the meantime; nothing was written.`
      return replyJson(exchange, 409, { error, text: written.text, version: written.version })
    }
    case 'refused':
      return replyError(exchange, 400, written.why)
    case 'unknown':
      return replyError(exchange, 404, noSuchFile)
    default:
      written satisfies never
  }
}

const noSuchFile = 'There is no such file here. GET /api/files lists those that can be edited.'
