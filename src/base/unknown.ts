// Values of unknown type: whether one is an object, and the message and the code of whatever was thrown.

/** What JSON calls an object and YAML a mapping. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The code of a system error (`ENOENT`, `EEXIST`, …); null if it has none. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null
}

/** Whether the error means that a file or folder does not exist. */
export const isMissing = (error: unknown): boolean => errorCode(error) === 'ENOENT'
