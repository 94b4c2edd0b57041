// Writes the tables of the docs that the code knows better: options, commands of the chat, the gateway's own tools. `npm run docs` runs it.
import { readFile, writeFile } from 'node:fs/promises'
import type { OfferedTool } from '../src/base/tools.ts'
import { eachOption } from '../src/config/index.ts'
import { createCommands } from '../src/intake/index.ts'
import { createTools } from '../src/tools/index.ts'

export interface Page {
  readonly file: string
  /** As it is on disk, and as it should be. */
  readonly before: string
  readonly after: string
}

/** All pages that have a table of ours. */
export const pages = (): Promise<readonly Page[]> =>
  Promise.all(
    [...tables].map(async ([file, table]) => {
      const before = await readFile(new URL(file, import.meta.url), 'utf8')
      return { file, before, after: withTable(file, before, table()) }
    }),
  )

const tables: ReadonlyMap<string, () => string> = new Map([
  ['configuration.md', optionTable],
  ['commands.md', commandTable],
  ['tools.md', toolTable],
])

/** Made from the code and never called, so there is nothing behind them. */
const nothing = {} as never

function optionTable(): string {
  return tableOf(
    ['key in config.json', 'variable', 'flag', 'default', 'while running', 'meaning (allowed)'],
    eachOption().map(([key, { env, flag, default: usual, live, description, kind }]) => [
      code(key),
      code(env),
      flag === undefined ? '' : code(`--${flag}`),
      usual === null || typeof usual === 'function' || String(usual) === '' ? '' : code(String(usual)),
      live ? 'takes effect' : '',
      `${description} (${kind.allowed})`,
    ]),
  )
}

function commandTable(): string {
  return tableOf(
    ['command', 'also', 'for', 'what it does'],
    createCommands(nothing).list.map(({ names: [name = '', ...others], takes, ownerOnly, about }) => [
      code(`/${name}${takes === undefined ? '' : ` ${takes}`}`),
      others.map(other => code(`/${other}`)).join(' '),
      ownerOnly ? 'owner' : 'everybody',
      about,
    ]),
  )
}

function toolTable(): string {
  const ports = {
    ...{ messages: nothing, jobs: nothing, memory: nothing, facts: nothing, tasks: nothing, content: nothing },
    agents: nothing,
  }
  return tableOf(
    ['tool', 'takes', 'for', 'what it does'],
    createTools({ formatTime: String, takeMessage: async () => null, ...ports }).map(
      ({ name, takes, ownerOnly, about }) => [code(name), argumentsOf(takes), ownerOnly ? 'owner' : 'everybody', about],
    ),
  )
}

const argumentsOf = (takes: OfferedTool['takes']): string =>
  Object.entries(takes)
    .map(([name, { required }]) => code(required ? name : `${name}?`))
    .join(' ')

const code = (text: string) => `\`${text}\``

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.map(cell).join(' | ')} |`).join('\n')

/** A stroke would end the cell, also between backticks. */
const cell = (text: string) => text.replaceAll('|', '\\|')

const marks = { begin: '<!-- made by npm run docs -->', end: '<!-- end -->' }

function withTable(file: string, page: string, table: string): string {
  const begin = page.indexOf(marks.begin)
  const end = page.indexOf(marks.end, begin)
  if (begin < 0 || end < 0) throw new Error(`docs/${file} has no place for its table: ${marks.begin} … ${marks.end}`)
  return `${page.slice(0, begin + marks.begin.length)}\n\n${table}\n\n${page.slice(end)}`
}

// Not by import.meta.main, which Node 24.0 does not have.
if (process.argv[1] === import.meta.filename) {
  for (const { file, before, after } of await pages()) {
    if (after !== before) await writeFile(new URL(file, import.meta.url), after)
    process.stdout.write(`docs/${file}: ${after === before ? 'is up to date' : 'written'}\n`)
  }
}
