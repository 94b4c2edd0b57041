// Everything that reads text from outside takes time in proportion to the text, whatever it is made of, up to a megabyte.
import { describe, expect, test } from 'vitest'
import { readEntries, withEntry } from '../../src/base/entries.ts'
import { readPlace } from '../../src/base/event.ts'
import { fenceAfter } from '../../src/base/fence.ts'
import { parseModelOverride } from '../../src/base/model-override.ts'
import { excerpt, label, scrubber } from '../../src/base/scrub.ts'
import { beginningOf, draftOf } from '../../src/chat/discord/poster.ts'
import { withoutFileLinks } from '../../src/chat/live-drafts.ts'
import { readSchedule } from '../../src/clock/schedule.ts'
import { readJson } from '../../src/config/json.ts'
import { composePrompt, defused, describeSpeaker, webhookWords } from '../../src/prompt/compose.ts'
import { recallHistory } from '../../src/prompt/history.ts'
import { outline } from '../../src/prompt/outline.ts'
import { fillTemplate } from '../../src/prompt/template.ts'
import { filesLinkedIn } from '../../src/send/deliveries.ts'
import { createAttached, piecesOf } from '../../src/send/index.ts'
import { forIndex, forPeople, wordsOf } from '../../src/store/search-query.ts'
import { worseThanLinear } from '../harness/growth.ts'

/** Repeated to a megabyte. Each has undone some parser before. */
const parts = [
  ...[
    'a',
    ' ',
    '\n',
    'word ',
    '`',
    '```\n',
    '~',
    '[',
    ']',
    '[x](',
    '(',
    '<',
    '>',
    '> ',
    '- ',
    '*',
    '_',
    '#',
    '\\',
    '|',
  ],
  ...[
    '[Gateway: ',
    '<system-reminder>',
    '"',
    '{',
    '[[',
    '{{payload}}',
    '{{',
    'A=',
    'A="',
    ': ',
    '---\n',
    '## x\n',
    '### x\n',
  ],
  ...[
    '- x: y\n',
    '<@1>',
    '@everyone ',
    '/',
    '\t',
    '\r\n',
    'https://',
    'x@y.',
    '0',
    '0 ',
    '* * ',
    '%',
    '😀',
    'é',
    'а',
    '\u200b',
    '-',
    '-payload-',
  ],
]

/** Texts whose parts belong together over a distance. */
const nested = [
  ['[', ']'],
  ['(', ')'],
  ['{', '}'],
  ['> ', '\n'],
  ['-', 'payload', '-'],
  ['`', ' ', '`'],
]

const texts: readonly { readonly name: string; of(size: number): string }[] = [
  ...parts.map(part => ({ name: part, of: (size: number) => `${part.repeat(Math.ceil(size / part.length))} y` })),
  ...nested.map(([open = '', inner = '', close = inner]) => ({
    name: open + inner + close,
    of: (size: number) => `${open.repeat(size / 2)}${inner}${close.repeat(size / 2)}`,
  })),
]

const attached = createAttached(import.meta.dirname)
const limits = { length: 2000, measure: (text: string) => text.length, editEveryMs: null }
const scrub = scrubber(['a-secret-of-the-owner', 'another-secret'])
const shape = { section: 'Webhooks', keys: ['instruction', 'secret'] }
const author = { id: '1', name: 'Eve', owner: false }
const sender = { chat: 'discord', user: '1', roles: [], channel: '2', guild: null, where: 'x' }
const whole = { received: true, time: '', collected: [], interrupted: false, note: null, history: '' }

const functions: Readonly<Record<string, (text: string) => unknown>> = {
  'the prompt': text => composePrompt({ ...whole, text }),
  'the words of others': defused,
  'a payload': text =>
    webhookWords({ kind: 'webhook', name: 'x', instruction: 'see {{payload}}', payload: text }, 'mark'),
  'a template': text => fillTemplate(text, '{}'),
  'a field of a payload': text => fillTemplate('{{a.b}} {{payload}}', JSON.stringify({ a: { b: text } })),
  'the name of a speaker': text => describeSpeaker({ author: { ...author, name: text }, sender }),
  'the history': text => recallHistory([{ role: 'person', text, at: 0 }], 24_000, 'all'),
  'pieces of an answer': text => piecesOf(text, [], limits),
  'files of an answer': text => filesLinkedIn(text, attached.find),
  fences: text => text.split('\n').reduce<ReturnType<typeof fenceAfter>>((open, line) => fenceAfter(line, open), null),
  'links of an answer': text => withoutFileLinks(text, ['a.png', 'b/c.txt']),
  'a draft': text => draftOf({ text, label: null, steps: 0 }),
  'the beginning of an answer': text => beginningOf(text),
  'a schedule': readSchedule,
  'a search': wordsOf,
  'text for the index': forIndex,
  'text from the index': forPeople,
  'entries of agents.md': text => readEntries(text, shape),
  'an entry that is written': text => withEntry(text, shape, 'x', null),
  'the outline of memory': outline,
  'config.json': readJson,
  'hiding secrets': scrub,
  'an excerpt': text => excerpt(text),
  'a label': text => label(text),
  'a place': text => readPlace(text, ['discord']),
  'a model': parseModelOverride,
}

describe.each(Object.keys(functions))('%s', name => {
  test('is read in linear time', async () => {
    const work = functions[name]!
    const slow: string[] = []
    for (const { name, of } of texts) {
      const why = await worseThanLinear(size => work(of(size)), 1_000_000)
      if (why !== null) slow.push(`${JSON.stringify(name)}: ${why}`)
    }
    expect(slow).toEqual([])
  })
})
