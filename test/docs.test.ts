// The docs agree with the code, and their links work.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { pages } from '../docs/generate.ts'

const root = join(import.meta.dirname, '..')
const all = globSync(['*.md', 'docs/**/*.md'], { cwd: root })
const textOf = (page: string) => readFileSync(join(root, page), 'utf8')

test('the tables of options, commands and tools agree with the code; `npm run docs` writes them', async () => {
  const written = await pages()
  expect(written.map(({ file }) => file)).toEqual(['configuration.md', 'commands.md', 'tools.md'])
  for (const { before, after } of written) expect(before).toBe(after)
})

test('every link leads to an existing page and heading, and every file that is named exists', () => {
  expect(all.length).toBeGreaterThan(25)
  const missing = all.flatMap(page => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].filter(
      ([, link = '']) => !leads(page, link),
    )
    const named = [...textOf(page).matchAll(/`((?:src|test|docs|bin)\/[\w./-]+\.\w+)`/g)]
    return [...links, ...named.filter(([, file = '']) => !existsSync(join(root, file)))].map(
      ([, to]) => `${page}: ${to}`,
    )
  })
  expect(missing).toEqual([])
})

function leads(from: string, link: string): boolean {
  const [path = '', heading] = link.split('#')
  const page = path === '' ? from : join(dirname(from), path)
  if (!existsSync(join(root, page))) return false
  return heading === undefined || headingsOf(textOf(page)).includes(heading)
}

/** As GitHub makes them into anchors. */
const headingsOf = (text: string): readonly string[] =>
  [...text.replace(/^(`{3,}).*?^\1$/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
