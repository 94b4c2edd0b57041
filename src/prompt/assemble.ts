// The system prompt: a preamble and the sections under their headers. The headers can be parsed back.
import { noSections, type SectionKey, type Sections, sectionFiles } from './sections.ts'

const skillsName = 'Skills'

const preamble = `Your long-term memory is the file \`memory.md\` in your working folder. When you learn something that should outlast this
conversation (a fact, a preference, an id, a lesson), add it there with the Write tool or by editing the file. Append, keep
what is still true, correct what is not, and keep it short: it is part of your prompt in every turn.`

export interface Extra {
  readonly capabilities: string
  /** The list of skills; '' or missing: none. */
  readonly skills?: string
}

/** Null or blank sections are left out; every other is written as `## Name\n\ncontent\n\n`. The skills come last. */
export const assemble = (sections: Sections, extra: Extra): string => {
  let prompt = `${preamble}\n\n`
  if (extra.capabilities.trim() !== '') prompt += `${demote(extra.capabilities.trim())}\n\n`
  for (const { key, name } of sectionFiles) {
    const content = sections[key]
    if (content !== null && content.trim() !== '') prompt += `## ${name}\n\n${demote(content)}\n\n`
  }
  const skills = extra.skills?.trim() ?? ''
  return skills === '' ? prompt : `${prompt}## ${skillsName}\n\n${demote(skills)}\n\n`
}

/** The sections of an assembled prompt, with their content as in the prompt: lookalikes of our headers stay demoted. */
export const parseSections = (prompt: string): Sections => {
  const found: Record<SectionKey, string | null> = { ...noSections }
  const headers = [...prompt.matchAll(header)]
  for (const [index, match] of headers.entries()) {
    const section = sectionFiles.find(({ name }) => name === match[1])
    if (section === undefined) continue
    const content = prompt.slice(match.index + match[0].length, headers[index + 1]?.index)
    found[section.key] = content.endsWith('\n\n') ? content.slice(0, -2) : content
  }
  return found
}

// Looser than what we write (any case, extra blanks, closing #s), because the reader is a model and not a parser.
// `^` and `$` also match at CR, U+2028 and U+2029. No two adjacent repeats match the same character, so the time is linear.
const blank = '[^\\S\\n\\r\\u2028\\u2029]'
const ours = [...sectionFiles.map(({ name }) => name), skillsName]
const names = ours.map(name => name.replaceAll(' ', `${blank}+`)).join('|')
const lookalike = new RegExp(`^(${blank}*)##(?=${blank}+(?:${names})${blank}*(?:#+${blank}*)?$)`, 'gim')
// A name underlined with dashes is a header of the same level.
const underlined = new RegExp(`^(${blank}*)(?=(?:${names})${blank}*(?:\\r\\n|\\r|\\n)${blank}*-+${blank}*$)`, 'gim')
const header = new RegExp(`^## (${ours.join('|')})\\n\\n`, 'gm')

/** Demotes lines that look like one of our headers by one level, also inside code: the names are reserved. */
const demote = (content: string): string => content.replace(lookalike, '$1###').replace(underlined, '$1### ')
