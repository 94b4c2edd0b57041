// The two configuration files: people edit config.json; the Settings page writes bot-config.json.

export const configFiles = ['config.json', 'bot-config.json'] as const
export type ConfigFileName = (typeof configFiles)[number]

/** Rules about what the agent may do without asking. An agent's change of it waits for the owner. */
export const permissionsFile = 'permissions.json'

/** Texts to use instead of the contents of the files. */
export type ConfigTexts = Readonly<Partial<Record<ConfigFileName, string>>>

export const isConfigFile = (file: string): file is ConfigFileName => configFiles.some(name => name === file)

/**
 * For a path within the workspace: hidden files, the gateway's own state, and the configuration files with all their copies, which may
 * contain secrets.
 */
export const isPrivateFile = (path: string): boolean =>
  configFiles.some(name => path.toLowerCase().startsWith(name)) ||
  path.split(/[\\/]/).some(part => part.startsWith('.') && part !== '.')
