// permissions.json is the owner's: an agent that edits it gets nothing from that, neither in the same turn nor later.
import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { ToolUse } from '../../base/tool-use.ts'
import { decide, type Permissions } from '../../run/index.ts'
import { closeStage, ofGuest, ofOwner, openStage, type Stage } from '../../store/file-guard.fixture.ts'
import { createPermissionsWiring, permissionsAdmin } from './permissions.ts'

let stage: Stage
let permissions: Permissions
afterEach(() => closeStage(stage))

async function open(files: Record<string, string> = {}) {
  stage = await openStage(files)
  permissions = createPermissionsWiring(stage.dir, stage.fileGuard)
}

const file = 'permissions.json'
const wide = '{ "allow": ["Bash"] }\n'
const strict = '{ "deny": ["Bash(rm:*)"] }\n'
/** What becomes of a command at this moment. */
function verdict(command: string): string {
  const use: ToolUse = { tool: 'Bash', work: { kind: 'command', command } }
  const { rules } = permissions.read()
  return decide(use, {
    ...{ rules, allowedTools: [], askTools: ['Bash'], lane: 'webchat:home', project: stage.dir, folder: stage.dir },
    ...{ home: '/h', realpath: path => path },
  }).type
}

test.each([
  ['the owner', ofOwner()],
  ['a guest', ofGuest()],
])('in a turn of %s, a written rule is not in effect, and it waits for the owner afterwards', async (_, turn) => {
  await open()
  const leave = stage.fileGuard.guardTurn(turn)
  stage.write(file, wide)
  expect(verdict('ls')).toBe('ask')
  await leave()
  expect(verdict('ls')).toBe('ask')
  expect(stage.text(file)).toBe(null)
  expect(stage.waits).toMatchObject([{ file, state: 'waiting' }])
  await stage.fileGuard.approve(1)
  expect(verdict('ls')).toBe('allow')
})

test('removing a limit, deleting the file or putting something else in its place does not loosen it', async () => {
  await open({ [file]: strict })
  const ways = [
    () => stage.write(file, '{}'),
    () => rmSync(join(stage.dir, file)),
    () => {
      rmSync(join(stage.dir, file))
      symlinkSync('/dev/null', join(stage.dir, file))
    },
    () => {
      rmSync(join(stage.dir, file))
      execFileSync('mkfifo', [join(stage.dir, file)])
    },
  ]
  for (const way of ways) {
    const leave = stage.fileGuard.guardTurn(ofOwner())
    expect(verdict('rm x')).toBe('deny')
    way()
    expect(verdict('rm x')).toBe('deny')
    await leave()
    expect(verdict('rm x')).toBe('deny')
    expect(stage.text(file)).toBe(strict)
  }
})

test('an edit that was made just before a kill waits too', async () => {
  await open({ [file]: strict })
  const turn = ofOwner(5)
  await stage.fileGuard.guardTurn(turn).ready
  stage.write(file, wide)
  stage = await stage.restart([turn])
  permissions = createPermissionsWiring(stage.dir, stage.fileGuard)
  expect(verdict('rm x')).toBe('deny')
  expect(stage.text(file)).toBe(strict)
})

test('an edit by hand is in effect at once, and so is a rule that the owner adds while a turn runs', async () => {
  await open()
  stage.write(file, strict)
  expect(verdict('rm x')).toBe('deny')
  const leave = stage.fileGuard.guardTurn(ofOwner())
  stage.write(file, wide)
  expect(await permissions.add('allow', { rule: 'Bash(git status:*)', by: 'ada' })).toMatchObject({ ok: true })
  expect(verdict('git status -s')).toBe('allow')
  expect(verdict('ls')).toBe('ask')
  await leave()
  expect(verdict('git status -s')).toBe('allow')
  expect(verdict('ls')).toBe('ask')
  expect(verdict('rm x')).toBe('deny')
  expect(await permissions.remove('allow', { rule: 'Bash(git status:*)' })).toMatchObject({ ok: true })
  expect(verdict('git status -s')).toBe('ask')
})

test('the owner lists rules with their origin, adds one and revokes exactly one', async () => {
  await open()
  const admin = permissionsAdmin(permissions, { now: () => Date.UTC(2026, 10, 17) })
  const status = { list: 'allow', rule: 'Bash(git status:*)', conversation: null, project: null } as const
  const here = { ...status, conversation: 'webchat:home' }
  expect(await admin.add(status)).toMatchObject({ ok: true })
  expect(await admin.add(here)).toMatchObject({ ok: true })
  expect(await admin.add({ ...status, rule: 'Bash(' })).toMatchObject({ ok: false })
  const origin = { by: 'owner', added: '2026-11-17T00:00:00.000Z' }
  expect(admin.list().rules).toEqual([
    { ...status, ...origin },
    { ...here, ...origin },
  ])
  expect(await admin.remove(status)).toMatchObject({ ok: true })
  expect(await admin.remove(status)).toMatchObject({ ok: false })
  expect(admin.list().rules).toEqual([{ ...here, ...origin }])
})
