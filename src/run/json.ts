// Reads JSON written by a program. It may have any shape; nothing here throws.
import { isObject } from '../base/is-object.ts'

export type Json = Readonly<Record<string, unknown>>

/** The object in a line; null if it is anything else. */
export function parseLine(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

export const object = (value: unknown): Json => (isObject(value) ? value : {})
export const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])
export const strings = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
export const string = (value: unknown): string => (typeof value === 'string' ? value : '')
export const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
