// The text of the systemd user unit. Paths follow systemd's quoting rules, which differ from line to line.

export interface UnitParts {
  readonly node: string
  /** bin/aetheel.mjs. */
  readonly program: string
  readonly configDir: string
  /** Where `.env` is read from. */
  readonly workingDir: string
  readonly path: string
  readonly stopTimeoutMs: number
  /** Whether users may make namespaces here. Without them, systemd could not start a user's unit that has a file system of its own. */
  readonly namespaces: boolean
}

/** Identifies a unit as written by this program. */
export const madeByUs = '# Made by "aetheel service install"; "aetheel service remove" takes it away.'

/** The same flags as in bin/aetheel. */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1'] as const

/** By then it has let its turns end, interrupted the rest and run the shutdown hook; if it takes longer, it hangs. */
const spareSeconds = 15

/**
 * What neither the gateway nor an agent needs. Agents keep the home folder, since their logins and tools are there. Nothing restricts
 * namespaces, since walls around an agent are made of them.
 */
const hardening = [
  'UMask=0077',
  'NoNewPrivileges=yes',
  'LockPersonality=yes',
  'RestrictSUIDSGID=yes',
  'MemoryHigh=70%',
  'MemoryMax=85%',
  'TasksMax=4096',
]

/** Throws a readable error for a path that a unit file cannot express. */
export function unitText(parts: UnitParts): string {
  const { node, program, configDir, workingDir, path, stopTimeoutMs, namespaces } = parts
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
TimeoutStopSec=${Math.ceil((2 * stopTimeoutMs) / 1000) + spareSeconds}
${[...(namespaces ? ['ProtectSystem=full'] : []), ...hardening].join('\n')}

[Install]
WantedBy=default.target
`
}

/** Inside quotes a backslash escapes; a percent sign starts a specifier everywhere. */
function quoted(text: string): string {
  const escaped = mustBeOneLine(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')
  return `"${escaped}"`
}

/** systemd expands variables in every word but the first, even inside quotes. */
const argument = (text: string): string => (/^[\w@+=:,./-]+$/.test(text) ? text : quoted(text).replaceAll('$', '$$$$'))

/** systemd refuses a program whose path contains quotes or a backslash, so a shell starts it. */
const executable = (path: string): readonly string[] =>
  /["'\\]/.test(path)
    ? ['/bin/sh', '-c', argument('exec "$0" "$@"'), argument(path)]
    : [/^[\w@+=:,./-]+$/.test(path) ? path : quoted(path)]

/** Taken literally up to the end of the line: quotes would be part of the path, and trailing blanks are stripped. */
function folder(text: string): string {
  if (/\s$|\\$/.test(text))
    throw new Error(`systemd cannot use the folder ${JSON.stringify(text)}. Give it another name.`)
  return mustBeOneLine(text).replaceAll('%', '%%')
}

function mustBeOneLine(text: string): string {
  if (/\p{Cc}/u.test(text))
    throw new Error(
      `a systemd unit cannot contain ${JSON.stringify(text)}: it has a line break or another control character in it.`,
    )
  return text
}
