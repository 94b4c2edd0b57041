// Patterns for paths in rules: `src/**`, `./notes.md`, `.env`, `~/x`, `//etc/**`.
import { dirname, isAbsolute, join, resolve } from 'node:path'

export interface PathContext {
  /** The working folder: relative paths and patterns start here. */
  readonly folder: string
  readonly home: string
  /** The path without links; null: there is no such file. */
  realpath(path: string): string | null
}

export interface PathPattern {
  readonly from: 'folder' | 'home' | 'root'
  /** Below that, with `*`, `?` and `**`. */
  readonly rest: string
}

/** The pattern, or why it is none. */
export function parsePattern(text: string): PathPattern | string {
  if (text.startsWith('!')) return 'a path cannot be excluded with "!"'
  if (text.split('/').includes('..')) return '".." cannot be used in a pattern'
  if (text.startsWith('//')) return { from: 'root', rest: tidy(text) }
  if (text.startsWith('~/')) return { from: 'home', rest: tidy(text.slice(2)) }
  if (text.startsWith('~')) return 'write ~/… for files in the home folder'
  if (text.startsWith('/')) return `write /${text} for an absolute path, or .${text} for one in the working folder`
  if (text.startsWith('./')) return { from: 'folder', rest: tidy(text) }
  // As in a .gitignore file, a mere name means files of this name in any folder.
  const rest = tidy(text)
  return { from: 'folder', rest: rest.includes('/') ? rest : `**/${rest}` }
}

const tidy = (path: string) =>
  path
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .join('/')

/**
 * Whether the pattern certainly covers this path, for `allow`: as it is written and where its links lead. The links of the pattern itself
 * do not count, because the agent could have made them.
 */
export function coversPath(pattern: PathPattern, path: string, context: PathContext, isFolder = false): boolean {
  if (!isCertain(path)) return false
  const target = resolve(context.folder, path)
  const isIn = (at: string, base: string) => {
    const below = belowOf(base, at)
    if (below === null) return false
    if (matchesGlob(pattern.rest, below, false)) return true
    return isFolder && /(?:^|\/)\*\*$/.test(pattern.rest) && matchesGlob(pattern.rest, joined(below, 'x'), false)
  }
  const base = baseOf(pattern, context)
  return isIn(target, base) && isIn(realOf(target, context), pattern.from === 'root' ? base : realOf(base, context))
}

/** Whether the pattern may mean this path, for `ask` and `deny`; unsure for a folder in which there may be such files. */
export function touchesPath(
  pattern: PathPattern,
  path: string,
  context: PathContext,
  isFolder = false,
): boolean | 'unsure' {
  if (!isCertain(path)) return 'unsure'
  const target = resolve(context.folder, path)
  const targets = [target, realOf(target, context)]
  const fixed = fixedPart(pattern.rest)
  const rest = pattern.rest.slice(fixed.length).replace(/^\//, '')
  const start = join(baseOf(pattern, context), fixed)
  const starts = [start, realOf(start, context)]
  // Some file systems ignore case.
  const pairs = targets.flatMap(at => starts.map(from => ({ at: at.toLowerCase(), from: from.toLowerCase() })))
  const isMeant = pairs.some(({ at, from }) => {
    const below = belowOf(from, at)
    return below !== null && (rest === '' || matchesGlob(rest, below, true))
  })
  if (isMeant) return true
  return isFolder && pairs.some(({ at, from }) => belowOf(at, from) !== null || belowOf(from, at) !== null)
    ? 'unsure'
    : false
}

/** The backend may expand `~`, and a text with such characters may not be one path. */
const isCertain = (path: string): boolean => path !== '' && !path.startsWith('~') && !/[\p{Cc}\u2028\u2029]/u.test(path)

const baseOf = ({ from }: PathPattern, { folder, home }: PathContext): string =>
  from === 'folder' ? resolve(folder) : from === 'home' ? resolve(home) : '/'

/** The folders at the start of a pattern that have no wildcards. */
function fixedPart(rest: string): string {
  const parts = rest.split('/')
  const first = parts.findIndex(part => /[*?]/.test(part))
  return (first === -1 ? parts : parts.slice(0, first)).join('/')
}

/** Of a file that does not exist yet: where its folder really is. */
export function realOf(path: string, { realpath }: Pick<PathContext, 'realpath'>): string {
  for (let at = path, rest = ''; ; ) {
    const real = realpath(at)
    if (real !== null) return joined(real, rest)
    const up = dirname(at)
    if (up === at) return path
    rest = rest === '' ? at.slice(up.length).replace(/^\//, '') : `${at.slice(up.length).replace(/^\//, '')}/${rest}`
    at = up
  }
}

const joined = (folder: string, rest: string) => (rest === '' ? folder : folder === '' ? rest : join(folder, rest))

/** The path relative to the folder; null: it is not in it. `''`: it is the folder. */
export function belowOf(folder: string, path: string): string | null {
  if (!isAbsolute(path)) return null
  if (path === folder) return ''
  const prefix = folder.endsWith('/') ? folder : `${folder}/`
  return path.startsWith(prefix) ? path.slice(prefix.length) : null
}

/** A pattern for a folder also means everything in it. */
function matchesGlob(pattern: string, path: string, ignoreCase: boolean): boolean {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text)
  return matchesParts(fold(pattern).split('/'), path === '' ? [] : fold(path).split('/'))
}

/** Each part of the pattern is compared at most once with each part of the path. */
function matchesParts(pattern: readonly string[], path: readonly string[]): boolean {
  /** Which beginnings of the path the pattern up to now can stand for. */
  let reached = new Set([0])
  for (const [at, part] of pattern.entries()) {
    const next = new Set<number>()
    const isLast = at === pattern.length - 1
    for (const length of reached) {
      // At the end, `**` is everything in the folder, but not the folder itself.
      if (part === '**') for (let more = length + (isLast ? 1 : 0); more <= path.length; more++) next.add(more)
      else if (length < path.length && matchesWild(part, path[length] ?? '', '*', '?')) next.add(length + 1)
    }
    reached = next
  }
  return reached.size > 0
}

/** `any` stands for any number of characters, `one` for a single one. Without a regular expression, which could take for ever. */
export function matchesWild(pattern: string, text: string, any: string, one: string | null = null): boolean {
  let [at, p] = [0, 0]
  let [star, tried] = [-1, 0]
  while (at < text.length) {
    if (pattern[p] === any) {
      star = p++
      tried = at
    } else if (p < pattern.length && (pattern[p] === one || pattern[p] === text[at])) {
      p++
      at++
    } else if (star !== -1) {
      p = star + 1
      at = ++tried
    } else return false
  }
  while (pattern[p] === any) p++
  return p === pattern.length
}
