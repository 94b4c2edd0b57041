// The names of tools: in ALLOWED_TOOLS, where they are claude's for all backends, and as people are shown them.

/** `Bash(git log:*)` is Bash, narrowed. */
export const toolName = (tool: string): string => tool.replace(/\(.*/s, '')

/** `mcp__files__read` as people see it: `files: read`. The gateway's own are known in every backend's spelling. */
export const shownTool = (name: string): string =>
  name.replace(/^mcp__(.+?)__(?=.)/, '$1: ').replace(/^(?:mcp_)?(aetheel)[A-Za-z0-9-]*_(?=[a-z])/, '$1: ') || 'tool'
