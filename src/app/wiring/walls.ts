// The walls: what holds which turns, found once at the start.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { WallView } from '../../base/profile.ts'
import type { Config } from '../../config/index.ts'
import { createProfiles, findWall, type Wall } from '../../run/index.ts'
import { productRoot } from '../product-root.ts'
import { stateDir } from '../state-folder.ts'

export interface Walls {
  readonly profiles: ReturnType<typeof createProfiles>
  /** Why the gateway must not start; null: it may. */
  readonly problem: string | null
  /** Which wall stands for whom. Empty until that is known, a moment after the start. */
  view(): readonly WallView[]
}

/** Waits for the result only if the configuration requires a certain wall. */
export async function openWalls(
  config: Config,
  settings: () => Config['views']['profiles'],
  path: string | undefined,
  signal: AbortSignal,
): Promise<Walls> {
  const found = findWall(config.wall, path, signal)
  const required =
    config.wall === 'bwrap' ? 'WALL=bwrap' : config.sandbox === 'off' ? null : `SANDBOX=${config.sandbox}`
  const problem = required === null ? null : problemOf(await found, required)
  const profiles = profilesFor(config, settings, found)
  let view: readonly WallView[] = []
  void profiles.view().then(walls => {
    view = walls
  })
  return { profiles, problem, view: () => view }
}

/** Whether guests may know what is in memory.md. */
export const showsMemoryToGuests = ({ guest, wall }: Config): boolean => guest.memory || wall === 'none'

const problemOf = ({ kind, detail }: Wall, required: string) =>
  kind === 'bwrap' ? null : `${required} requires bubblewrap: ${detail}.`

export function profilesFor(config: Config, settings: () => Config['views']['profiles'], found: Promise<Wall>) {
  const root = productRoot()
  return createProfiles({
    workspace: config.configDir,
    stateDir: stateDir(config.configDir),
    product: ['bin', 'src', 'node_modules', 'package.json'].map(name => join(root, name)).filter(existsSync),
    project: repositoryAround(config.configDir) ?? config.configDir,
    wall: () => found,
    settings,
  })
}

/** Null: the folder is in no Git repository. */
function repositoryAround(folder: string): string | null {
  if (existsSync(join(folder, '.git'))) return folder
  return dirname(folder) === folder ? null : repositoryAround(dirname(folder))
}
