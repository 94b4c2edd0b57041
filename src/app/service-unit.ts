// The text of the systemd user unit. Paths are written by systemd's rules, which differ from line to line.

export interface UnitParts {
  readonly node: string
  /** bin/aetheel.mjs. */
  readonly program: string
  readonly configDir: string
  /** Where `.env` is read from. */
  readonly workingDir: string
  readonly path: string
  readonly stopTimeoutMs: number
}

/** By this line a unit is known as ours. */
export const madeByUs = '# Made by "aetheel service install"; "aetheel service remove" takes it away.'

/** As bin/aetheel has them. */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1'] as const

/** Until then it has let its turns end, and has ended what did not; beyond it something hangs. */
const spareSeconds = 15

/** Throws, in plain words, over a path that a unit cannot name. */
export function unitText({ node, program, configDir, workingDir, path, stopTimeoutMs }: UnitParts): string {
  const args = [...nodeFlags, program, 'start', '--config-dir', configDir].map(argument)
  const command = [...executable(node), ...args]
  return `${madeByUs}
[Unit]
Description=Aetheel, a gateway between people and your coding agent
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
WorkingDirectory=${folder(workingDir)}
Environment=${quoted(`PATH=${path}`)}
ExecStart=${command.join(' ')}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
KillMode=mixed
TimeoutStopSec=${Math.ceil(stopTimeoutMs / 1000) + spareSeconds}

[Install]
WantedBy=default.target
`
}

/** In quotes a backslash escapes; a percent sign begins a specifier everywhere. */
function quoted(text: string): string {
  const escaped = mustBeOneLine(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${escaped}"`
}

/** Variables are filled in in every word but the first, also between quotes. */
const argument = (text: string): string => (/^[\w@+=:,./-]+$/.test(text) ? text : quoted(text).replaceAll('$', '$$$$'))

/** A program whose path has quotes or a backslash in it is refused by systemd, so a shell starts it. */
const executable = (path: string): readonly string[] =>
  /["'\\]/.test(path)
    ? ['/bin/sh', '-c', argument('exec "$0" "$@"'), argument(path)]
    : [/^[\w@+=:,./-]+$/.test(path) ? path : quoted(path)]

/** Taken as it stands to the end of the line: quotes would be part of it, and blanks at its end are cut off. */
function folder(text: string): string {
  if (/\s$|\\$/.test(text))
    throw new Error(`systemd cannot name the folder ${JSON.stringify(text)}. Give it another name.`)
  return mustBeOneLine(text).replaceAll('%', '%%')
}

function mustBeOneLine(text: string): string {
  if (/\p{Cc}/u.test(text))
    throw new Error(`a unit of systemd cannot name ${JSON.stringify(text)}: it has a line break or the like in it.`)
  return text
}
