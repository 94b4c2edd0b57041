// Names of tools: as in ALLOWED_TOOLS, which uses claude's names for all backends, and as shown to people.
import type { Json } from './stdio.ts'

/** `Bash(git log:*)` is Bash, narrowed. */
export const toolName = (tool: string): string => tool.replace(/\(.*/s, '')

/** `mcp__files__read` as people see it: `files: read`. The gateway's own tools are recognized in every backend's spelling. */
export const shownTool = (name: string): string =>
  name.replace(/^mcp__(.+?)__(?=.)/, '$1: ').replace(/^(?:mcp_)?(aetheel)[A-Za-z0-9-]*_(?=[a-z])/, '$1: ') || 'tool'

/** The parameters that name the target of a tool, in all backends. */
const about = ['file_path', 'filePath', 'absolute_path', 'path', 'dir_path', 'pattern', 'command', 'query', 'url']

/** A tool and its target on one line. */
export function toolLabel(name: string, input: Json): string {
  const on = [...about, 'description'].map(key => input[key]).find(value => typeof value === 'string' && value !== '')
  return typeof on === 'string' ? `${shownTool(name)}: ${on.replace(/\s+/g, ' ').slice(0, 80)}` : shownTool(name)
}
