// Two rules of permissions.json in memory.
import type { ListedRule, PermissionsAdmin } from '../../src/base/permissions.ts'

export const fakePermissions = (orders: unknown[] = []): PermissionsAdmin => {
  let rules: readonly ListedRule[] = [
    {
      ...{ list: 'allow', rule: 'Bash(git status:*)', conversation: 'webchat:home', project: null },
      ...{ by: 'owner', added: '2026-11-17T09:00:00.000Z' },
    },
    { list: 'deny', rule: 'Edit(secrets/**)', conversation: null, project: null, by: null, added: null },
  ]
  return {
    list: () => ({ rules, problems: [], broken: null }),
    async add(rule) {
      rules = [...rules, { ...rule, by: 'owner', added: null }]
      return { ok: true }
    },
    async remove(rule) {
      orders.push({ remove: rule })
      rules = rules.filter(one => one.rule !== rule.rule)
      return { ok: true }
    },
  }
}
