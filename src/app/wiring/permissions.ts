// The rules of permissions.json, read and changed through the file guard.
import { permissionsFile } from '../../base/config-files.ts'
import { openPermissions, type Permissions } from '../../run/index.ts'
import { byHand, type FileGuard } from '../../store/index.ts'

/** `dir`: the workspace. */
export const createPermissionsWiring = (dir: string, fileGuard: Pick<FileGuard, 'approved' | 'edit'>): Permissions =>
  openPermissions({
    dir,
    approved: () => fileGuard.approved(permissionsFile),
    edit: change => fileGuard.edit(permissionsFile, byHand, change),
  })
