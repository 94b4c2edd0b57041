// The sample's facts, tasks and content items, in the format of the workspace files. Times are relative to now.
const hour = 3_600_000
const day = 24 * hour

const facts = [
  [
    'Mrs Aydin wants a call before anything over 80 EUR is done',
    'preference',
    'customers',
    ['aydin', 'cargo bike'],
    15,
  ],
  ['The town needs the sign to be at most 60 × 40 cm', 'rule', 'workshop', ['sign', 'town'], 12],
  ['Spoke length for 28" with 36 holes and 3 crosses: 292 mm', 'measure', 'wheels', ['spokes'], 19],
  ['Kim is in the workshop on Tuesdays and Fridays', 'fact', 'people', ['kim'], 20],
  ['Radhaus gives 4 % from 500 EUR on', 'fact', 'wholesalers', ['radhaus', 'prices'], 9],
  ['Bottom brackets in stock: 12 BSA, 3 Italian', 'measure', 'stock', ['bottom bracket'], 3],
  ['Robin does not want to be disturbed on Sundays', 'preference', 'people', ['robin'], 20],
  ['The course in spring has eight places, six are taken', 'fact', 'course', ['course', 'spring'], 1],
  ['Nordrad delivers only once a month; order by the 25th', 'rule', 'wholesalers', ['nordrad'], 6],
  ['The backup disk was changed in March', 'event', 'house', ['backup'], 17],
] as const

const tasks = [
  ['Call Mrs Aydin about the motor', 'Over 80 EUR, so ask first. She is at home after 16:00.', 'todo', 1, 1],
  ['Measure the sign again', 'The town wants 60 × 40 cm at most.', 'todo', 4, 9],
  ['Order 36-hole rims', '12 pieces are back at Speiche & Co.', 'todo', 0, 0],
  ['Compare the three heat pump offers', 'Noise, price, warranty; one table.', 'doing', 2, 3],
  ['New opening hours on the site', '', 'doing', 5, -1],
  ['True the wheels of the blue tandem', 'Rear: 1 mm to the left.', 'doing', 1, null],
  ['Move the backup to the new disk', '', 'done', 17, null],
  ['Write the invitation to the course', 'Sent to 42 people.', 'done', 8, null],
  ['Find dead links in the notes', 'Four were dead.', 'done', 6, null],
] as const

const items = [
  [
    'Tubeless on old rims: what holds',
    'article',
    'Tape widths measured on 14 rims; two layers hold on 11 of them.',
    'new',
    0,
  ],
  ['Price list of Speiche & Co, week 46', 'document', 'Chains 8 % cheaper, rims unchanged.', 'new', 1],
  [
    'Wheel building with a phone as tension meter',
    'video',
    'The pitch of a spoke gives its tension within 5 %.',
    'reading',
    3,
  ],
  ['New rules for e-cargo bikes from January', 'article', 'Lights and brakes; nothing changes for repairs.', 'used', 5],
  [
    'How other workshops plan their spring',
    'thread',
    'Most take bookings four weeks ahead, with a deposit.',
    'reading',
    8,
  ],
  ['Quiet heat pumps compared', 'article', 'Under 45 dB(A) at 3 m: four of twelve.', 'used', 11],
] as const

export const recordFiles = (now: number): Readonly<Record<string, string>> => {
  const times = (daysAgo: number, index: number) => {
    const created = now - daysAgo * day - (index + 1) * hour
    return { createdAt: iso(created), updatedAt: iso(Math.min(now, created + (daysAgo * day) / 3)) }
  }
  return {
    'brain.json': json(
      facts.map(([content, type, category, tags, ago], index) => ({
        ...{ id: `fact-${index + 1}`, content, type, category, tags },
        ...times(ago, index),
      })),
    ),
    'tasks.json': json(
      tasks.map(([title, notes, status, ago, inDays], index) => ({
        ...{ id: `task-${index + 1}`, title, notes, status },
        due: inDays === null ? '' : iso(now + inDays * day).slice(0, 10),
        ...times(ago, index),
      })),
    ),
    'content-items.json': json(
      items.map(([title, kind, summary, status, ago], index) => ({
        ...{ id: `item-${index + 1}`, title, url: `https://example.org/${slug(title)}`, kind, summary, status },
        tags:
          title
            .toLowerCase()
            .match(/[a-z-]{5,}/g)
            ?.slice(0, 2) ?? [],
        ...times(ago, index),
      })),
    ),
  }
}

const iso = (at: number) => new Date(at).toISOString()
const slug = (title: string) => title.toLowerCase().replace(/[^a-z0-9]+/g, '-')
const json = (list: readonly object[]) => `${JSON.stringify(list, null, 2)}\n`
