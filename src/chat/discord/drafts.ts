// Live drafts on Discord.
import { createLiveDrafts, type DraftParts, type Drafts } from '../live-drafts.ts'
import { troubleOf } from './errors.ts'
import { draftOf } from './render.ts'

/** Discord does not publish its limits for edits; this pace works in practice. */
export const editEveryMs = 1200

export const createDrafts = (parts: Omit<DraftParts, 'everyMs' | 'render' | 'trouble'>): Drafts =>
  createLiveDrafts({
    ...parts,
    everyMs: () => editEveryMs,
    render: draftOf,
    trouble(error) {
      const found = troubleOf(error)
      return { afterMs: found.type === 'passing' ? found.afterMs : null, why: found.why }
    },
  })
