// Whether a value is what JSON calls an object and YAML a mapping.

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
