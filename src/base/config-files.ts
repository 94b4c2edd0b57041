// The two files of settings: config.json belongs to people, bot-config.json is what the Settings page writes.

export const configFiles = ['config.json', 'bot-config.json'] as const
export type ConfigFileName = (typeof configFiles)[number]

/** Texts that count instead of what stands in the files. */
export type ConfigTexts = Readonly<Partial<Record<ConfigFileName, string>>>

export const isConfigFile = (file: string): file is ConfigFileName => configFiles.some(name => name === file)

/** Of a path within the workspace: hidden files, our own state, and the files of settings with all their copies, in which there may be secrets. */
export const isPrivateFile = (path: string): boolean =>
  configFiles.some(name => path.toLowerCase().startsWith(name)) ||
  path.split(/[\\/]/).some(part => part.startsWith('.') && part !== '.')
