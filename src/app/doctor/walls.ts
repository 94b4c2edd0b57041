// The checks of `aetheel doctor` about walls: what holds the turns of guests and webhooks, and those of the owner.
import type { Check } from '../../base/check.ts'
import type { WallView } from '../../base/profile.ts'
import type { Config } from '../../config/index.ts'
import { findWall } from '../../run/index.ts'
import { profilesFor } from '../wiring/walls.ts'

/** Which wall stands for whom. */
export const wallsOf = (config: Config, path: string | undefined, signal: AbortSignal): Promise<readonly WallView[]> =>
  profilesFor(config, () => config.views.profiles, findWall(config.wall, path, signal)).view()

export async function wallChecks(config: Config, path: string | undefined, signal: AbortSignal): Promise<Check[]> {
  const found = findWall(config.wall, path, signal)
  const views = await profilesFor(config, () => config.views.profiles, found).view()
  const { kind, detail: why } = await found
  return views.map(({ who, wall, detail, network }): Check => {
    const name = who === 'owner' ? 'owner turns' : 'guest turns'
    if (who === 'owner')
      return wall === 'none' || kind === 'bwrap'
        ? { name, status: 'ok', detail }
        : { name, status: 'fail', detail: `SANDBOX=${config.sandbox} requires bubblewrap: ${why}`, fix }
    return wall === 'none'
      ? { name, status: 'warn', detail, fix: 'Set WALL=auto unless you trust everybody who may write.' }
      : { name, status: 'ok', detail: `${detail}; ${network}` }
  })
}

const fix =
  'Install bubblewrap (`apt-get install bubblewrap`), and allow unprivileged user namespaces if you are not root.'
