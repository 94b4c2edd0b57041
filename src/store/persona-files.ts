// The persona files as the owner edits them on the Files page: each save is recorded like an edit by hand.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { mostFileBytes, type OwnFile, type OwnFiles, type OwnText, type OwnWritten, promptRoom } from '../base/files.ts'
import type { MemoryChange } from '../base/memory.ts'
import { errorCode } from '../base/unknown.ts'
import { byHand } from './actor.ts'
import { type Change, type Changes, isTooLong } from './changes.ts'
import { type GuardedFiles, type Look, type Version, versionOf } from './guarded-files.ts'

export interface OwnFilesParts {
  readonly dir: string
  readonly files: GuardedFiles
  readonly changes: Changes
  readonly known: Map<string, Version>
  currentIn(file: string): Version
  /** A guest may have just changed the file: then the accepted content is in effect, not the one on disk. */
  inDoubt(file: string): boolean
  /** Finds out who changed a file, and handles the change. */
  settle(file: string): Promise<void>
  inOrder<T>(work: () => Promise<T>): Promise<T>
  shown(change: Change): MemoryChange
}

interface Description {
  readonly about: string
  readonly inPrompt?: true
}

const known: Readonly<Record<string, Description>> = {
  'memory.md': { about: 'What it remembers from talk to talk.', inPrompt: true },
  'identity.md': { about: 'Who it is: its name and its role.', inPrompt: true },
  'soul.md': { about: 'How it is: character, tone, what it holds to.', inPrompt: true },
  'user.md': { about: 'Who you are, and what it should know of you.', inPrompt: true },
  'agents.md': { about: 'Rules it works by; also cron jobs, hooks and webhooks.', inPrompt: true },
  'tools.md': { about: 'How it should use its tools.', inPrompt: true },
  'heartbeat.md': { about: 'What it looks after again and again.' },
  'boot.md': { about: 'Which files a start makes, and with what in them.' },
  'persona.md': { about: 'The persona in one file; fills what the files above leave open.', inPrompt: true },
  'CLAUDE.md': { about: 'The same, under the name that claude reads by itself.', inPrompt: true },
}
/** No name from a client reaches the disk unless it matches one of these. */
const skillFile = /^skills\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}\/SKILL\.md$/
const mostTries = 5

export function createPersonaFiles(parts: OwnFilesParts): OwnFiles {
  const { files, changes, currentIn, settle } = parts

  /** The text that the owner sees is the text that a save is compared with. */
  function counts(name: string): Look {
    if (!parts.inDoubt(name)) return files.look(name)
    const accepted = currentIn(name)
    return { ...accepted, what: accepted.hash === '' ? 'absent' : 'text' }
  }

  function describe(name: string, { about, inPrompt }: Description): OwnFile {
    const now = counts(name)
    const bytes = now.what === 'text' ? Buffer.byteLength(now.text ?? '') : 0
    const room = inPrompt ? promptRoom : null
    const why = whyUnusable(now, bytes)
    const isCut = room !== null && bytes > room
    const state = why !== null ? 'unusable' : now.what === 'absent' ? 'absent' : isCut ? 'too-large' : 'good'
    return {
      ...{ name, about, exists: now.what !== 'absent', bytes, room, state },
      changedAt: now.what === 'absent' ? null : changedAt(join(parts.dir, name)),
      why: isCut ? `is larger than the ${room} bytes of it that the agent is given; shorten it` : why,
    }
  }

  async function write(name: string, text: string | null, version: string | null): Promise<OwnWritten> {
    for (let tries = 0; tries < mostTries; tries++) {
      const now = counts(name)
      const why = whyUnusable(now)
      if (now.what === 'unreadable' || why !== null) return refused(`${name} ${why}.`)
      if (now.hash !== (version ?? '')) return { type: 'stale', ...ownText(now) }
      if (now.text === text) return { type: 'written', version, change: null }
      // Changes that a turn has made so far are recorded or reverted as its own before ours is written.
      await settle(name)
      const before = currentIn(name)
      if (before.hash !== now.hash) continue
      const after = versionOf(text)
      const done = await files.replace(name, before, text, () => parts.known.set(name, after))
      if (!done) continue
      const made = { file: name, before, after, ...byHand, state: 'made', aside: null } as const
      const change = await changes.record(made, currentIn(name))
      return { type: 'written', version: ownText(after).version, change: parts.shown(asKept(change)) }
    }
    return refused(`${name} keeps changing; try again.`)
  }

  return {
    async list() {
      const skills = files.names().filter(name => skillFile.test(name))
      const all = [...Object.entries(known), ...skills.map(name => [name, { about: 'A skill of yours.' }] as const)]
      return all.map(([name, description]) => describe(name, description))
    },
    async read(name) {
      if (!isNamed(name)) return { type: 'unknown' }
      const now = counts(name)
      const why = whyUnusable(now)
      if (now.what === 'unreadable' || why !== null) return { type: 'unusable', why: `${name} ${why}.` }
      return { type: 'text', ...ownText(now) }
    },
    async write(name, text, version) {
      if (!isNamed(name)) return { type: 'unknown' }
      try {
        return await parts.inOrder(() => write(name, text?.toWellFormed() ?? null, version))
      } catch (error) {
        return refused(`${name} could not be written (${codeOf(error)}); check free space and permissions.`)
      }
    },
  }
}

const isNamed = (name: string): boolean => Object.hasOwn(known, name) || skillFile.test(name)

const ownText = ({ text, hash }: Version): OwnText => ({ text: text ?? '', version: hash === '' ? null : hash })

/** Null: it can be edited here. */
function whyUnusable(now: Look, bytes = 'text' in now ? Buffer.byteLength(now.text ?? '') : 0): string | null {
  if (now.what === 'unreadable') return now.why
  if (now.what === 'other') return 'is not a text file, or is a link that leads out of the workspace; edit it by hand'
  return bytes > mostFileBytes ? 'is larger than 1 MB; edit it by hand' : null
}

function changedAt(path: string): number | null {
  try {
    return Math.round(statSync(path).mtimeMs)
  } catch {
    return null // gone meanwhile, or a link that leads nowhere
  }
}

/** As it is stored in the log: of a long text only the hash is kept. */
const asKept = (change: Change): Change => ({
  ...change,
  before: isTooLong(change.before) ? { ...change.before, text: null } : change.before,
  after: isTooLong(change.after) ? { ...change.after, text: null } : change.after,
})

const refused = (why: string): OwnWritten => ({ type: 'refused', why })

const codeOf = (error: unknown): string => errorCode(error) ?? 'unknown error'
