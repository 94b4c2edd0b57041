// Which commands a shell line runs, for applying rules to it. Understands only lines whose meaning is beyond doubt in sh, bash, zsh and fish.

/** A word as the program gets it. `raw`: it has characters that the shell expands, such as `*`, and stands as it was written. */
interface Word {
  readonly text: string
  readonly raw: boolean
}

/**
 * The simple commands that the line runs, each as one text: words as the program gets them, with one space between them and in single
 * quotes where they need any, so that equal commands are equal texts. Null: unsure, the line may run something else too.
 */
export function commandsIn(line: string): readonly string[] | null {
  const commands = wordsIn(line)
  if (commands === null || commands.length === 0) return null
  return commands.every(isPlain) ? commands.map(words => words.map(spelled).join(' ')) : null
}

/** The text of a command with exactly these words, as `commandsIn` gives it. */
export const commandText = (words: readonly string[]): string =>
  words.map(text => spelled({ text, raw: false })).join(' ')

/** The text of one command in which some words may be anything, such as the first one; null: it is not one command. */
export function patternIn(text: string): string | null {
  const [words, ...others] = wordsIn(text) ?? []
  return words === undefined || others.length > 0 ? null : words.map(spelled).join(' ')
}

/** The words of a text that `commandsIn` gave. */
export const wordsOf = (command: string): readonly string[] => wordsIn(command)?.[0]?.map(({ text }) => text) ?? []

/** Runs a command that is in its arguments or its input: nothing is known about what it does from its own name. */
export function runsAnother(words: readonly string[]): boolean {
  const name = programOf(words)
  return wrappers.has(name) || (name === 'find' && words.some(word => /^-(?:exec|ok|delete|fprint|fls)/.test(word)))
}

/** Its name without the folder. */
export const programOf = ([program = '']: readonly string[]): string => program.slice(program.lastIndexOf('/') + 1)

const wrappers = new Set([
  ...['sh', 'bash', 'dash', 'zsh', 'fish', 'ksh', 'mksh', 'ash', 'csh', 'tcsh', 'rbash', 'pwsh', 'busybox', 'toybox'],
  ...[
    'sudo',
    'doas',
    'su',
    'runuser',
    'env',
    'xargs',
    'parallel',
    'nohup',
    'nice',
    'ionice',
    'timeout',
    'time',
    'chrt',
  ],
  ...['setsid', 'stdbuf', 'unbuffer', 'watch', 'chroot', 'unshare', 'nsenter', 'setpriv', 'strace', 'ltrace', 'gdb'],
  ...['taskset', 'flock', 'script', 'expect', 'ssh', 'mosh', 'entr', 'systemd-run', 'at', 'batch', 'crontab', 'bwrap'],
  ...[
    'docker',
    'podman',
    'kubectl',
    'npx',
    'bunx',
    'pnpx',
    'uvx',
    'pipx',
    'dlx',
    'screen',
    'tmux',
    'awk',
    'gawk',
    'mawk',
  ],
  ...[
    'python',
    'python2',
    'python3',
    'node',
    'nodejs',
    'deno',
    'bun',
    'ruby',
    'perl',
    'php',
    'lua',
    'tclsh',
    'osascript',
  ],
  ...[
    'nawk',
    'sed',
    'vi',
    'vim',
    'nvim',
    'ed',
    'ex',
    'emacs',
    'less',
    'more',
    'man',
    'tar',
    'rsync',
    'scp',
    'sftp',
    'fd',
  ],
])

/**
 * Words that are part of the shell's grammar, and builtins that run or load something or change what later words mean: names, variables,
 * options, traps.
 */
const ofShell = new Set([
  ...[
    'if',
    'then',
    'elif',
    'else',
    'fi',
    'for',
    'foreach',
    'while',
    'until',
    'do',
    'done',
    'case',
    'esac',
    'in',
    'select',
  ],
  ...['function', 'functions', 'time', 'coproc', 'repeat', 'end', 'begin', 'switch', 'and', 'or', 'not', 'nocorrect'],
  ...[
    'eval',
    'exec',
    'source',
    '.',
    'command',
    'builtin',
    'env',
    'alias',
    'unalias',
    'abbr',
    'export',
    'declare',
    'typeset',
  ],
  ...[
    'local',
    'readonly',
    'integer',
    'float',
    'set',
    'unset',
    'setopt',
    'unsetopt',
    'setenv',
    'unsetenv',
    'shopt',
    'emulate',
  ],
  ...[
    'trap',
    'hash',
    'rehash',
    'enable',
    'disable',
    'autoload',
    'zmodload',
    'bind',
    'bindkey',
    'complete',
    'compgen',
    'compopt',
  ],
  ...[
    'let',
    'read',
    'mapfile',
    'readarray',
    'getopts',
    'vared',
    'print',
    'wait',
    'fc',
    'history',
    'noglob',
    'sched',
    'zle',
  ],
  ...[
    'r',
    'return',
    'break',
    'continue',
    'shift',
    'zcompile',
    'zstyle',
    'zparseopts',
    'zformat',
    'zregexparse',
    'compadd',
    'argparse',
  ],
])

function isPlain([program, ...rest]: readonly Word[]): boolean {
  if (program === undefined || program.raw || !/^[A-Za-z0-9_./][\w./+-]*$/.test(program.text)) return false
  if (ofShell.has(program.text)) return false
  // Both can evaluate an argument that names a variable: printf -v 'a[$(…)]'.
  return !['printf', 'test'].includes(program.text) || !rest.some(({ text }) => /^-[vR]|[$`]/.test(text))
}

/** In double quotes a backslash stays before all other characters. */
const escapable = '$`"\\'
/** Unquoted: for the shell these stand for themselves. */
const plain = /[A-Za-z0-9_@%+=:,./^\]\p{L}\p{N}-]/u
/** These may be expanded to names of files, or to the home folder. */
const expanded = '*?[~#'
const invisible = /(?![ \t\n])[\p{C}\p{Zl}\p{Zp}]/u
/** Redirections that neither write nor read a file. They are left out. */
const harmless = /(?:[012]?>&[12]|[12]?>{1,2}[ \t]?\/dev\/null|<[ \t]?\/dev\/null)(?=[ \t\n;|]|&&|$)/y
const operator = /&&|\|\||[;|\n]/y

/** The words of each command, as far as the grammar goes; null: there is something else in the line. */
function wordsIn(line: string): readonly (readonly Word[])[] | null {
  if (!line.isWellFormed() || invisible.test(line)) return null
  const commands: Word[][] = []
  let words: Word[] = []
  let word: { text: string; quoted: boolean; expands: boolean } | null = null
  /** After `&&`, `||` and `|` there must be a command. */
  let awaits = false

  const part = (text: string, how: 'quoted' | 'expands' | null) => {
    word ??= { text: '', quoted: false, expands: false }
    word.text += text
    if (how === 'expands') word.expands = true
    if (how === 'quoted' && !isSafe(text)) word.quoted = true
  }
  const endWord = (): boolean => {
    if (word !== null) {
      if (word.expands && (word.quoted || !isTame(word.text))) return false
      words.push({ text: word.text, raw: word.expands })
    }
    word = null
    return true
  }

  for (let at = 0; at < line.length; ) {
    const char = String.fromCodePoint(line.codePointAt(at) ?? 0)
    operator.lastIndex = at
    const [sign] = operator.exec(line) ?? []
    if (char === ' ' || char === '\t') {
      if (!endWord()) return null
      at++
    } else if (sign !== undefined) {
      if (!endWord()) return null
      if (words.length > 0) commands.push(words)
      else if (sign !== '\n') return null
      awaits = sign === '\n' && words.length === 0 ? awaits : sign.length === 2 || sign === '|'
      words = []
      at += sign.length
    } else if (char === "'") {
      const end = line.indexOf("'", at + 1)
      // For fish, a backslash before the closing quote means that the text goes on.
      if (end === -1 || line[end - 1] === '\\') return null
      part(line.slice(at + 1, end), 'quoted')
      at = end + 1
    } else if (char === '"') {
      const end = quotedTo(line, at + 1, text => part(text, 'quoted'))
      if (end === null) return null
      at = end
    } else if (char === '\\') {
      const next = line[at + 1] ?? '\n'
      // Fish reads \n and \x41 as in C.
      if (!/[ -/:-@[-`{-~]/.test(next)) return null
      part(next, 'quoted')
      at += 2
    } else {
      harmless.lastIndex = at
      const [aside] = word === null && words.length > 0 ? (harmless.exec(line) ?? []) : []
      if (aside === undefined) {
        // For zsh, =name is the path of a program.
        if (char === '=' && word === null) return null
        const how = expanded.includes(char) ? 'expands' : plain.test(char) ? null : undefined
        if (how === undefined) return null
        part(char, how)
      }
      at += aside?.length ?? char.length
    }
  }
  if (!endWord() || (words.length === 0 && awaits)) return null
  return words.length > 0 ? [...commands, words] : commands
}

/** Returns the position after the closing quote; null: there is none, or something is expanded. */
function quotedTo(line: string, from: number, part: (text: string) => void): number | null {
  let text = ''
  for (let at = from; at < line.length; at++) {
    const char = line[at] ?? ''
    if (char === '"') {
      part(text)
      return at + 1
    }
    const next = line[at + 1] ?? '\n'
    if (char === '$' || char === '`' || (char === '\\' && next === '\n')) return null
    if (char === '\\' && escapable.includes(next)) at++
    text += char === '\\' && escapable.includes(next) ? next : char
  }
  return null
}

const isSafe = (text: string): boolean => /^[A-Za-z0-9_@%+=:,./^\]\p{L}\p{N}-]+$/u.test(text)

/** What it expands to cannot be an option, a command or the result of one: only file names behind its beginning. */
const isTame = (text: string): boolean =>
  /^(?:~(?:\/|$)|[A-Za-z0-9_./@+\p{L}])/u.test(text) && !text.slice(1).includes('~[')

const spelled = ({ text, raw }: Word): string =>
  (raw || isSafe(text)) && !/^=/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
