// The names of tools in ALLOWED_TOOLS, which are claude's for all backends.

/** `Bash(git log:*)` is Bash, narrowed. */
export const toolName = (tool: string): string => tool.replace(/\(.*/s, '')
