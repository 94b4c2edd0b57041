// Fills a workspace with the sample: its files, and three weeks of events through the store's own functions.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assemble, capabilities, openWorkspace } from '../src/prompt/index.ts'
import { changeFiles, letIn, startHelpers } from './beside.ts'
import { openPast } from './past.ts'
import { recordFiles } from './records.ts'
import { people, tellStory } from './story.ts'

export async function fill(dir: string, root: string, now: number): Promise<void> {
  mkdirSync(join(dir, '.aetheel'), { mode: 0o700 })
  cpSync(join(root, 'demo/workspace'), dir, { recursive: true })
  for (const [file, text] of Object.entries(recordFiles(now))) writeFileSync(join(dir, file), text)
  const workspace = openWorkspace({ dir, tell: () => {}, shippedSkills: join(root, 'templates/skills') })
  await workspace.bootstrap()
  const system = assemble(await workspace.read(), {
    capabilities: capabilities({ configDir: dir, allowedTools: ['Read', 'Edit', 'Bash'], gateway: 'mcp' }),
    skills: await workspace.skills(),
  })
  const past = openPast(dir, system, now)
  let lastOfGuest = 0
  for (const chapter of tellStory(now, midnight)) {
    const id = await past.play(chapter)
    const { what } = chapter.event
    if (what.kind === 'message' && what.author === people.kim) lastOfGuest = id
  }
  await startHelpers(past, now)
  await changeFiles(past, dir, now, lastOfGuest)
  await letIn(past, now)
  await past.close()
}

const midnight = (at: number) => new Date(at).setHours(0, 0, 0, 0)
