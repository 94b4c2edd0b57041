// Fills a workspace with the sample: its files, and three weeks of events through the store's own functions.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assemble, capabilities, createWorkspace } from '../src/prompt/index.ts'
import { changeFiles, letIn, startHelpers } from './beside.ts'
import { openPast } from './past.ts'
import { recordFiles } from './records.ts'
import { tellStory } from './story.ts'

export async function fill(dir: string, root: string, now: number): Promise<void> {
  mkdirSync(join(dir, '.aetheel'), { mode: 0o700 })
  cpSync(join(root, 'demo/workspace'), dir, { recursive: true })
  for (const [file, text] of Object.entries(recordFiles(now))) writeFileSync(join(dir, file), text)
  const workspace = createWorkspace({ dir, emit: () => {}, shippedSkills: join(root, 'templates/skills') })
  await workspace.bootstrap()
  const system = assemble(await workspace.read(), {
    capabilities: capabilities({ configDir: dir, allowedTools: ['Read', 'Edit', 'Bash'], gateway: 'mcp' }),
    skills: await workspace.skills(),
  })
  const past = openPast(dir, system, now)
  const events: { id: number; at: number; author: object }[] = []
  for (const { event, ...chapter } of tellStory(now, midnight)) {
    const id = await past.play({ event, ...chapter })
    if (event.what.kind === 'message') events.push({ id, at: chapter.at, author: event.what.author })
  }
  const lastOf = (author: object, before: number) =>
    events.findLast(one => one.author === author && one.at < before)?.id ?? 0
  await startHelpers(past, now)
  await changeFiles(past, dir, now, lastOf)
  await letIn(past, now)
  await past.close()
}

const midnight = (at: number) => new Date(at).setHours(0, 0, 0, 0)
