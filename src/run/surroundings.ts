// The surroundings of a turn's processes: the environment they get, and the box they run in.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Turn } from '../base/agent.ts'
import { type Confined, homeEnvironment, type Mount, prepareHome } from './box-home.ts'
import { childEnvironment, type EnvironmentParts } from './child-environment.ts'
import { placeOfUrl } from './network/admission.ts'
import { addressesOf } from './network/dial.ts'
import { openNetwork, type Reach } from './network/proxy.ts'
import { modelPlaces } from './network/services.ts'
import type { ProcessOrder } from './process.ts'
import { boxed } from './wall.ts'

type Environment = Readonly<Record<string, string>>

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** The order as it must be started; `dir` is the folder of the run. */
  enter(order: ProcessOrder, dir: string): ProcessOrder
}

export function createSurroundings(
  dialect: { readonly ownVariables: readonly string[]; readonly confined: Confined },
  parts: EnvironmentParts & { readonly reach?: Partial<Reach> },
): (turn: Turn) => Surroundings {
  const usual = childEnvironment(dialect, parts)
  const reach: Reach = { lookup: addressesOf, gateway: () => '', environment: usual, ...parts.reach }

  /** Opened for each box, and closed when it ends. */
  function networkOf({ profile, model }: Turn, env: Environment, logins: readonly Mount[], dir: string) {
    if (!profile?.network || profile.box === '') return null
    const { hosts: listed, urls, web } = profile.network
    const configured = [...modelPlaces(dialect, env, logins, model), ...urls].flatMap(url => placeOfUrl(url) ?? [])
    return openNetwork(dir, { configured, listed, web }, reach, dialect.confined.listens)
  }

  return turn => {
    const { profile, mcpServers } = turn
    if (!profile) return { env: usual, enter: order => order }
    const { variables, home } = profile
    const given = variables === null ? usual : childEnvironment(dialect, { ...parts, handOn: variables }, variables)
    const env = homeEnvironment(given, profile, dialect)
    return {
      env,
      enter(order, dir) {
        const logins: readonly Mount[] = prepareHome(profile, dialect, usual)
        const userHome = usual.HOME ?? homedir()
        return boxed(order, profile, {
          ...{ dir, logins, network: networkOf(turn, env, logins, dir) },
          programs: mcpServers.flatMap(server => ('command' in server ? server.command : [])),
          state: home === null ? [...dialect.confined.state, '.cache'].map(path => join(userHome, path)) : [],
        })
      },
    }
  }
}
