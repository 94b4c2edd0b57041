// The six sections of the system prompt, in order, and the file of each.

export type SectionKey = 'identity' | 'soul' | 'agents' | 'user' | 'memory' | 'tools'

/** What the agent learns about itself; null: left out of the prompt. */
export type Sections = { readonly [key in SectionKey]: string | null }

export interface SectionFile {
  readonly key: SectionKey
  /** The header in the prompt: `## Name`. */
  readonly name: string
  readonly file: string
  /** The header of an empty file. A file with only this header counts as empty. */
  readonly header: string
  readonly required: boolean
  /** The initial content of the file. */
  readonly starter: string
}

export const identityCalled = (name: string): string => `# Identity

- **Name:** ${name}
- **Role:** a personal assistant that lives on its owner's machine and is spoken to in chats
`

const starterSoul = `# Soul

Be genuinely helpful: do the work instead of describing it.
Be resourceful before asking: read, search, try. Then ask one clear question.
Have opinions and say them kindly. Say plainly what you do not know or could not do.
Keep answers as short as they can be and still be complete.
What is private stays private. Ask before anything that cannot be undone or that speaks in your owner's name.
`

const empty = (key: SectionKey, name: string, file: string, header: string): SectionFile => ({
  key,
  name,
  file,
  header,
  required: false,
  starter: `${header}\n`,
})

export const sectionFiles: readonly SectionFile[] = [
  {
    key: 'identity',
    name: 'Identity',
    file: 'identity.md',
    header: '# Identity',
    required: true,
    starter: identityCalled('Aetheel'),
  },
  { key: 'soul', name: 'Personality', file: 'soul.md', header: '# Soul', required: true, starter: starterSoul },
  empty('agents', 'Operating Rules', 'agents.md', '# Operating Rules'),
  empty('user', 'User Context', 'user.md', '# User Context'),
  empty('memory', 'Long-Term Memory', 'memory.md', '# Memory'),
  empty('tools', 'Tool Configuration', 'tools.md', '# Tool Configuration'),
]

export const noSections: Sections = { identity: null, soul: null, agents: null, user: null, memory: null, tools: null }

// What is read of a file.

/** Which part to keep if there is too much: rules start with what matters, memory ends with what is new. */
export type Keep = 'start' | 'end'

export interface Excerpt {
  readonly file: string
  readonly text: string
  readonly keep: Keep
  /** The size of the whole file in bytes, if the text is only a part of it. */
  readonly cutFrom: number | null
}

export type Found =
  | { readonly type: 'text'; readonly excerpt: Excerpt }
  | { readonly type: 'missing' }
  /** `why` says what to do. */
  | { readonly type: 'unreadable'; readonly why: string }
