// The files of the pages: listed at start, so that no path sent by a client ever reaches the disk.
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { type Exchange, policyHeader, reply, replyError } from './reply.ts'

export interface Assets {
  has(path: string): boolean
  send(exchange: Exchange, path: string, status?: number, headers?: Readonly<Record<string, string>>): Promise<void>
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
}

const vendor: readonly (readonly [path: string, file: string])[] = [
  ['/vendor/marked.js', 'marked/lib/marked.esm.js'],
  ['/vendor/dompurify.js', 'dompurify/dist/purify.es.mjs'],
  ['/vendor/preact.js', 'preact/dist/preact.mjs'],
  ['/vendor/preact-hooks.js', 'preact/hooks/dist/hooks.mjs'],
  ['/vendor/htm.js', 'htm/dist/htm.mjs'],
  ['/vendor/uplot.js', 'uplot/dist/uPlot.esm.js'],
  ['/vendor/uplot.css', 'uplot/dist/uPlot.min.css'],
  ['/vendor/highlight/tokenize.js', '@speed-highlight/core/dist/tokenize.js'],
]
/** One module per language. */
const vendorFolder = { path: '/vendor/highlight/languages', dir: '@speed-highlight/core/dist/languages' }

/** An import map cannot be a file of its own, so the page that has one is allowed exactly these bytes inline. */
const importMap = /<script type="importmap">([\s\S]*?)<\/script>/

/** Rejects if a folder or a library of the pages is missing. */
export const listAssets = async (webDir: string, modulesDir: string): Promise<Assets> => {
  const files = new Map<string, string>()
  const policies = new Map<string, Readonly<Record<string, string>>>()
  for (const entry of await readdir(webDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || types[extname(entry.name)] === undefined) continue
    const file = join(entry.parentPath, entry.name)
    files.set(`/web/${relative(webDir, file).split(sep).join('/')}`, file)
    const map = file.endsWith('.html') ? importMap.exec(await readFile(file, 'utf8'))?.[1] : undefined
    if (map !== undefined) policies.set(file, policyHeader(createHash('sha256').update(map).digest('base64')))
  }
  for (const [path, name] of vendor) {
    const file = join(modulesDir, name)
    await stat(file)
    files.set(path, file)
  }
  const folder = join(modulesDir, vendorFolder.dir)
  for (const name of await readdir(folder))
    if (name.endsWith('.js')) files.set(`${vendorFolder.path}/${name}`, join(folder, name))

  return {
    has: path => files.has(path),
    async send(exchange, path, status = 200, headers = {}) {
      const file = files.get(path)
      if (file === undefined) return replyError(exchange, 404, 'There is nothing here.')
      const { size, mtimeMs } = await stat(file)
      const tag = `"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`
      const type = types[extname(file)] ?? 'application/octet-stream'
      // no-cache: stored, but revalidated each time, so that updating the gateway updates the page.
      const caching = { 'Cache-Control': 'no-cache', ETag: tag, ...policies.get(file), ...headers }
      if (status === 200 && exchange.request.headers['if-none-match'] === tag) {
        exchange.response.writeHead(304, caching).end()
        return
      }
      reply(exchange, status, type, await readFile(file), caching)
    },
  }
}
