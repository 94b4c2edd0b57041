// The commands of Codex as people write them, and which of them only read a file.
import { resolve } from 'node:path'

/** Codex starts every command as `/bin/bash -lc '…'`. Null: it is not of this form, and is shown as it is. */
export function commandIn(line: string): string {
  const script = /^(?:\S*\/)?(?:bash|zsh|sh) -l?c ([\s\S]+)$/.exec(line)?.[1]
  return script === undefined ? line : (unquoted(script) ?? line)
}

/** The text of a single shell word; null: it is more than that, or contains something that a shell would replace. */
function unquoted(word: string): string | null {
  let text = ''
  let rest = word
  while (rest !== '') {
    const [whole = '', single, double, bare] =
      /^(?:'([^']*)'|"((?:[^"\\$`]|\\["\\$`])*)"|([\w@%+=:,./-]+|\\.))/s.exec(rest) ?? []
    if (whole === '') return null
    text += single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? bare?.replace(/^\\/, '') ?? ''
    rest = rest.slice(whole.length)
  }
  return text
}

const file = String.raw`[\w./@%+,-]+`
const options = '(?: -[a-yA-Y0-9]+)*'
/** Nothing here can be more than it seems: no quotes, variables, wildcards, redirections or second commands. */
const readers = [
  new RegExp(`^(?:cat|head|tail|wc|nl|ls|stat)${options} (?!-)(?<path>${file})$`),
  new RegExp(`^head -n \\d+ (?!-)(?<path>${file})$`),
  new RegExp(`^tail -n \\+?\\d+ (?!-)(?<path>${file})$`),
  new RegExp(`^sed -n '?\\d+(?:,\\d+)?p'? (?!-)(?<path>${file})$`),
  new RegExp(`^(?:rg|grep)${options} (?:'(?!-)[^'\\n]*'|(?!-)${file})(?: (?!-)(?<path>${file}))$`),
  new RegExp(`^(?:ls${options}|pwd)(?<path>)$`),
]

/** The file that a command reads, if it does nothing else; null: it may do something else. */
export function fileRead(command: string, cwd: string): string | null {
  for (const reader of readers) {
    const path = reader.exec(command)?.groups?.path
    if (path !== undefined) return resolve(cwd, path)
  }
  return null
}
