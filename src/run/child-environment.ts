// The environment of an agent's processes, built from scratch: only what they need of the gateway's own.

export interface EnvironmentParts {
  /** The gateway's own environment. The child gets only what it needs of it. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Names of variables that are passed on as they are (BACKEND_ENV). */
  readonly handOn: readonly string[]
  /** Additional variables (env.vars). */
  readonly extra: Readonly<Record<string, string>>
}

const common = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_*',
  'TZ',
  'TMPDIR',
  'XDG_*',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

/** `only`: of the configured extra variables, those that the CLI needs itself and those with these names; null: all of them. */
export function childEnvironment(
  cli: { readonly ownVariables: readonly string[] },
  parts: EnvironmentParts,
  only: readonly string[] | null = null,
): Record<string, string> {
  const wanted = [...common, ...cli.ownVariables, ...parts.handOn]
  const matches = (name: string) =>
    wanted.some(want => (want.endsWith('*') ? name.startsWith(want.slice(0, -1)) : name === want))
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(parts.environment))
    if (value !== undefined && matches(name)) env[name] = value
  const extra = Object.entries(parts.extra).filter(([name]) => only === null || matches(name))
  return { ...env, ...Object.fromEntries(extra) }
}
