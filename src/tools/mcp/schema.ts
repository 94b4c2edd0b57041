// Converts a tool of the gateway to its MCP description.
import type { OfferedTool, ToolField } from '../../base/tools.ts'

export function asMcpTool({ name, about, takes, readOnly }: OfferedTool) {
  const fields = Object.entries(takes)
  const required = fields.filter(([, field]) => field.required).map(([field]) => field)
  return {
    name,
    description: about,
    inputSchema: {
      type: 'object' as const,
      properties: Object.fromEntries(fields.map(([field, one]) => [field, schemaOf(one)])),
      ...(required.length > 0 ? { required } : {}),
    },
    ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
  }
}

function schemaOf({ type, about, oneOf }: ToolField) {
  const kind = type === 'strings' ? { type: 'array', items: { type: 'string' } } : { type }
  return { ...kind, ...(oneOf ? { enum: [...oneOf] } : {}), ...(about ? { description: about } : {}) }
}
