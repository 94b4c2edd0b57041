// The surroundings of a turn's processes: the environment they get, and the box they run in.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Turn } from '../base/agent.ts'
import { type Confined, homeEnvironment, type Mount, prepareHome } from './box-home.ts'
import { childEnvironment, type EnvironmentParts } from './child-environment.ts'
import type { ProcessOrder } from './process.ts'
import { boxed } from './wall.ts'

export interface Surroundings {
  readonly env: Readonly<Record<string, string>>
  /** The order as it must be started; `dir` is the folder of the run. */
  enter(order: ProcessOrder, dir: string): ProcessOrder
}

export function createSurroundings(
  dialect: { readonly ownVariables: readonly string[]; readonly confined: Confined },
  parts: EnvironmentParts,
): (turn: Turn) => Surroundings {
  const usual = childEnvironment(dialect, parts)
  return ({ profile, mcpServers }) => {
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
          ...{ dir, logins },
          programs: mcpServers.flatMap(server => ('command' in server ? server.command : [])),
          state: home === null ? [...dialect.confined.state, '.cache'].map(path => join(userHome, path)) : [],
        })
      },
    }
  }
}
