// Where the product itself lies.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where package.json, web/, templates/ and node_modules/ are, from the source as well as from a bundle. */
export function productRoot(): string {
  let dir = import.meta.dirname
  while (!existsSync(join(dir, 'package.json')) && dirname(dir) !== dir) dir = dirname(dir)
  return dir
}
