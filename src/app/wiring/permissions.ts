// The rules of permissions.json, read and changed through the file guard.
import { permissionsFile } from '../../base/config-files.ts'
import type { PermissionsAdmin, WrittenRule } from '../../base/permissions.ts'
import type { Clock } from '../../base/time.ts'
import { openPermissions, type Permissions } from '../../run/index.ts'
import { byHand, type FileGuard } from '../../store/index.ts'

/** `dir`: the workspace. */
export const createPermissionsWiring = (dir: string, fileGuard: Pick<FileGuard, 'approved' | 'edit'>): Permissions =>
  openPermissions({
    dir,
    approved: fileGuard.approved.bind(null, permissionsFile),
    edit: change => fileGuard.edit(permissionsFile, byHand, change),
  })

/** For the owner: what they add and remove is theirs. */
export const permissionsAdmin = (permissions: Permissions, clock: Pick<Clock, 'now'>): PermissionsAdmin => {
  const placed = ({ rule, conversation, project }: WrittenRule) => ({
    ...{ rule, ...(conversation !== null && { conversation }), ...(project !== null && { project }) },
  })
  return {
    list() {
      const { rules, problems, broken } = permissions.read()
      return {
        // One without a position stands for an entry that cannot be used, which `problems` has.
        rules: rules.flatMap(({ at, list, rule, conversation, project, by, added }) =>
          at === undefined ? [] : [{ list, rule: rule.text, conversation, project, by, added }],
        ),
        ...{ problems, broken },
      }
    },
    add: rule => permissions.add(rule.list, { ...placed(rule), by: 'owner', at: new Date(clock.now()).toISOString() }),
    remove: rule => permissions.remove(rule.list, placed(rule)),
  }
}
