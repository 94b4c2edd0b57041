// The agent's files and skills, kept in memory.
import type { OwnFile, OwnFiles, SkillsAdmin } from '../../src/base/files.ts'
import { learnt } from './admin.ts'

/** Knows only these files; `texts` is their content. */
export function fakeFiles(initial: Readonly<Record<string, string>>) {
  const texts = new Map(Object.entries(initial))
  const versionOf = (name: string) => (texts.has(name) ? `v-${texts.get(name)}` : null)
  const asked: string[] = []
  const files: OwnFiles = {
    list: async () =>
      [...texts].map(([name, text]): OwnFile => {
        const bytes = Buffer.byteLength(text)
        return { ...{ name, bytes, about: 'Words.', exists: true, changedAt: 1, room: null, why: null }, state: 'good' }
      }),
    async read(name) {
      asked.push(`read ${name}`)
      if (name === 'soul.md') return { type: 'unusable', why: 'soul.md is no text file.' }
      const text = texts.get(name)
      return text === undefined ? { type: 'unknown' } : { type: 'text', text, version: versionOf(name) }
    },
    async write(name, text, version) {
      asked.push(`write ${name}`)
      if (name === 'soul.md') return { type: 'refused', why: 'soul.md is no text file.' }
      if (!Object.hasOwn(initial, name)) return { type: 'unknown' }
      if (version !== versionOf(name)) return { type: 'stale', text: texts.get(name) ?? '', version: versionOf(name) }
      if (text === null) texts.delete(name)
      else texts.set(name, text)
      return { type: 'written', version: versionOf(name), change: { ...learnt, file: name } }
    },
  }
  return { files, texts, asked }
}

export const fakeSkills: SkillsAdmin = {
  list: async () => ({
    skills: [{ name: 'tea', description: 'Makes tea.', from: 'yours', file: 'skills/tea/SKILL.md', bytes: 40 }],
    troubles: [{ file: 'skills/cold/SKILL.md', why: 'has no description; it is left out' }],
    offered: [],
  }),
}
