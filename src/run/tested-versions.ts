// The versions of the agent CLIs that this release was tested with, and those that are installed, without starting or downloading anything.
import { realpathSync } from 'node:fs'
import { findProgram, packageVersion } from './find-program.ts'

/** The tests with the real CLIs install exactly these. */
export const testedVersions = {
  claude: '2.1.325',
  codex: '0.166.0',
  gemini: '0.61.0',
  opencode: '1.18.33',
  pi: '0.87.1',
} as const

export interface InstalledCli {
  readonly name: keyof typeof testedVersions
  /** Null: it cannot be told from its files. */
  readonly version: string | null
  readonly tested: string
  readonly isOlder: boolean
}

/** `chosen`: the program of this backend is not looked up by its name. */
export function installedClis(
  path: string | undefined,
  chosen: { readonly name: string | null; readonly program: string | null },
): readonly InstalledCli[] {
  return (Object.keys(testedVersions) as (keyof typeof testedVersions)[]).flatMap(name => {
    const program = findProgram((chosen.name === name ? chosen.program : null) ?? name, path)
    if (program === null) return []
    const version =
      /[/\\]versions[/\\](\d+(?:\.\d+)+)/.exec(realpathSync(program))?.[1] ?? packageVersion(program, path, name)
    const tested = testedVersions[name]
    return { name, version, tested, isOlder: version !== null && isBefore(version, tested) }
  })
}

/** Compares numbers, part by part. What follows them, such as `-beta.1`, does not count. */
function isBefore(version: string, other: string): boolean {
  const [mine, theirs] = [version, other].map(text => (/^\d+(?:\.\d+)*/.exec(text)?.[0] ?? '').split('.').map(Number))
  const at = theirs?.findIndex((part, i) => part !== (mine?.[i] ?? 0)) ?? -1
  return at >= 0 && (mine?.[at] ?? 0) < (theirs?.[at] ?? 0)
}
