// `aetheel completion`: shell scripts generated from the commands themselves. Pressing TAB starts no program.
import type { Command, Option } from 'commander'
import type { Shell } from './command.ts'

/** The possible words at one place of the command line. */
interface Level {
  /** The command before it, such as `cron add`. Empty if there is none yet. */
  readonly at: string
  readonly words: readonly Word[]
  readonly options: readonly Choice[]
}

interface Word {
  readonly word: string
  readonly about: string
}

interface Choice {
  /** Such as `-n` and `--number`. */
  readonly names: readonly string[]
  readonly about: string
  /** Null if it takes no value. */
  readonly value: Value | null
}

type Value = { readonly type: 'one of'; readonly words: readonly string[] } | { readonly type: 'folder' | 'anything' }

export function completionScript(shell: Shell, program: Command): string {
  const levels = levelsOf(program)
  switch (shell) {
    case 'bash':
      return bashScript(levels)
    case 'zsh':
      return zshScript(levels)
    case 'fish':
      return fishScript(levels)
    default:
      return shell satisfies never
  }
}

function levelsOf(program: Command): readonly Level[] {
  const help = program.createHelp()
  const global = help.visibleOptions(program).filter(({ long }) => long !== '--version')
  const optionsOf = (command: Command) => [...help.visibleOptions(command), ...(command === program ? [] : global)]
  const below = (command: Command, path: readonly string[], above: Command): Level[] => {
    const commands = help.visibleCommands(command)
    const given = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map(word => ({ word, about: description })),
    )
    // `help` takes the name of a sibling command, and without a command `start` is meant.
    const beside = help.visibleCommands(above).filter(one => one.name() !== 'help')
    const named = command.name() === 'help' ? beside : commands
    const meant = command === program ? program.commands.filter(one => one.name() === 'start') : []
    const options = [command, ...meant].flatMap(optionsOf).map(choiceOf)
    const level: Level = {
      at: path.join(' '),
      words: [...named.map(one => ({ word: one.name(), about: one.description() })), ...given],
      options: options.filter(({ names }, i) => options.findIndex(one => one.names.join() === names.join()) === i),
    }
    return [level, ...commands.flatMap(one => below(one, [...path, one.name()], command))]
  }
  return below(program, [], program)
}

function choiceOf({ short, long, description, argChoices, required, optional, flags }: Option): Choice {
  const takes = required || optional
  const value: Value = argChoices
    ? { type: 'one of', words: argChoices }
    : { type: /[<[](folder|dir)/.test(flags) ? 'folder' : 'anything' }
  return { names: [short, long].filter(name => name !== undefined), about: description, value: takes ? value : null }
}

const namesOf = (levels: readonly Level[], which: (choice: Choice) => boolean): readonly string[] => [
  ...new Set(levels.flatMap(({ options }) => options.filter(which).flatMap(({ names }) => names))),
]
const withValue = (levels: readonly Level[]) => namesOf(levels, ({ value }) => value !== null)
const paths = (levels: readonly Level[]) => levels.map(({ at }) => at).filter(at => at !== '')

/** `cron add:--model` and its possible values, for every place where it is allowed. */
const valuesOf = (levels: readonly Level[]) =>
  levels.flatMap(({ at, options }) =>
    options.flatMap(({ names, value }) => (value ? [{ after: names.map(name => `${at}:${name}`), value }] : [])),
  )

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const patterns = (words: readonly string[]) => words.map(quoted).join('|')

/** Shared by bash and zsh: walks the words before the cursor, and leaves the command in `at`. */
const walk = (levels: readonly Level[]): string => `    if [[ -n $takes ]]; then
      [[ $word == '=' ]] || takes=''
      continue
    fi
    case "$word" in
      ${withValue(levels).join('|')}) takes=1 ;;
      -*) ;;
      *)
        case "\${at:+$at }$word" in
          ${patterns(paths(levels))}) at="\${at:+$at }$word" ;;
        esac
        ;;
    esac`

function bashScript(levels: readonly Level[]): string {
  const values = valuesOf(levels).map(({ after, value }) => `    ${patterns(after)}) ${bashValue(value)} ;;`)
  const places = levels.map(({ at, words, options }) => {
    const names = options.flatMap(one => one.names).join(' ')
    return `        ${quoted(at)}) words=${quoted(words.map(({ word }) => word).join(' '))} options=${quoted(names)} ;;`
  })
  // For bash, `--backend=claude` is three words.
  return `# Completion of aetheel for bash. For every shell: echo 'eval "$(aetheel completion bash)"' >> ~/.bashrc
_aetheel() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  local at='' takes='' words='' options='' word i
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
${walk(levels)}
  done
  case "$at:$prev" in
${values.join('\n')}
    *)
      case "$at" in
${places.join('\n')}
      esac
      [[ $cur == -* ]] && words=$options
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _aetheel aetheel
`
}

function bashValue(value: Value): string {
  if (value.type === 'one of') return `words=${quoted(value.words.join(' '))}`
  if (value.type === 'anything') return 'return'
  return `local IFS=$'\\n'; compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -d -- "$cur")); return`
}

function zshScript(levels: readonly Level[]): string {
  const values = valuesOf(levels).map(({ after, value }) => {
    const add = value.type === 'one of' ? `compadd -- ${value.words.map(quoted).join(' ')}` : '_files -/'
    return `    ${patterns(after)}) ${value.type === 'anything' ? '' : `${add}; `}return ;;`
  })
  const described = (name: string, about: string) =>
    quoted(`${name.replaceAll(':', '\\:')}:${about.replaceAll('\\', '')}`)
  const places = levels.map(({ at, words, options }) => {
    const names = options.flatMap(one => one.names.map(name => described(name, one.about)))
    const commands = words.map(({ word, about }) => described(word, about))
    return `    ${quoted(at)}) commands=(${commands.join(' ')}) options=(${names.join(' ')}) ;;`
  })
  // For zsh, `--backend=claude` is one word. When sourced, it registers itself; as a file on the function path, it is called.
  return `#compdef aetheel
# Completion of aetheel for zsh. For every shell, below compinit: echo 'eval "$(aetheel completion zsh)"' >> ~/.zshrc
_aetheel() {
  local at='' takes='' before=\${words[CURRENT-1]} word i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
${walk(levels)}
  done
  if [[ \${words[CURRENT]} == --*=* ]]; then
    before=\${words[CURRENT]%%=*}
    compset -P 1 '*='
  fi
  case "$at:$before" in
${values.join('\n')}
  esac
  case "$at" in
${places.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe -o option options; else _describe command commands; fi
}
if [[ \${funcstack[1]} == _aetheel ]]; then _aetheel "$@"; else compdef _aetheel aetheel; fi
`
}

function fishScript(levels: readonly Level[]): string {
  const described = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const rows = levels.flatMap(({ at, words, options }) => {
    const here = `complete -c aetheel -n '__aetheel_at ${at}'`
    return [
      ...words.map(({ word, about }) => `${here} -a ${word} -d ${described(about)}`),
      ...options.map(({ names, about, value }) => {
        const flags = names.map(name => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
        const list = value?.type === 'one of' ? ` -a ${described(value.words.join(' '))}` : ''
        const folders = value?.type === 'folder' ? " -a '(__fish_complete_directories)'" : ''
        return `${here} ${flags.join(' ')}${value ? ` -x${list}${folders}` : ''} -d ${described(about)}`
      }),
    ]
  })
  return `# Completion of aetheel for fish: aetheel completion fish > ~/.config/fish/completions/aetheel.fish
function __aetheel_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at
  set -l takes 0
  for word in $words
    if test $takes = 1
      set takes 0
      continue
    end
    switch $word
      case ${withValue(levels).join(' ')}
        set takes 1
      case '-*'
      case '*'
        if contains -- (string join ' ' $at $word) ${paths(levels).map(described).join(' ')}
          set at $at $word
        end
    end
  end
  test "$at" = "$argv"
end
complete -c aetheel -f
${rows.join('\n')}
`
}
