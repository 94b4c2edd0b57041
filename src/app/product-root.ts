// Where Aetheel itself is installed.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The folder of package.json, web/, templates/ and node_modules/, both from source and from a bundle. */
export function productRoot(): string {
  let dir = import.meta.dirname
  while (!existsSync(join(dir, 'package.json')) && dirname(dir) !== dir) dir = dirname(dir)
  return dir
}
