// The conversations of the sample: questions with their answers.

export interface Talk {
  readonly asked: string
  readonly answer: string
  readonly tools: readonly string[]
}

const talk = (asked: string, answer: string, ...tools: string[]): Talk => ({ asked, answer, tools })

export const deskConversations: readonly Talk[] = [
  talk(
    'Which spokes do I need for the blue tandem, rear?',
    'For the rear wheel, 36 holes, 3 crosses:\n\n| side | length |\n|---|---|\n| left | 290 mm |\n| right | 288 mm |\n\nRounded down, as always. 40 of each are in stock.',
    'Read: notes/stock.csv',
  ),
  talk(
    'Please compare the three heat pump offers and put them into one table',
    'The second one is the quiet one:\n\n| offer | price | at 3 m | warranty |\n|---|---:|---:|---|\n| Nord | 14,200 EUR | 51 dB(A) | 5 years |\n| Halm | 15,900 EUR | 43 dB(A) | 7 years |\n| Fels | 13,450 EUR | 55 dB(A) | 5 years |\n\nThe first is missing the foundation; that is about 800 EUR more.',
    'Read: files/offers/nord.pdf',
    'Read: files/offers/halm.pdf',
    'Read: files/offers/fels.pdf',
  ),
  talk(
    'Write me a small script that renames the scans by date',
    'It renames what it finds and leaves the rest alone:\n\n```bash\nfor file in files/scan-*.pdf; do\n  day=$(date -r "$file" +%F)\n  mv -n "$file" "files/$day-$(basename "$file")"\ndone\n```\n\n`mv -n` never overwrites. I have tried it on a copy: 14 files, no trouble.',
    'Bash: ls files',
    'Bash: sh rename.sh',
  ),
  talk(
    'How did the backup go?',
    'It ran at 03:00, took 4 minutes and kept 14 days. There is room for about five more weeks.',
    'Read: logs/backup.log',
  ),
  talk(
    'What did we promise Mrs Aydin?',
    'A call before anything over 80 EUR is done. The motor will be over that, so somebody has to call. No date was promised.',
    'memory_search: Aydin',
  ),
  talk(
    'Move the opening hours on the site to 10:00',
    'Done: hours.html says Tuesday to Saturday, 10:00 to 18:00. It is not published yet; say so and I run `make publish`.',
    'Edit: site/hours.html',
  ),
  talk(
    'publish it',
    'Published. The site answers, and the hours are right.',
    'Bash: make publish',
    'WebFetch: the site',
  ),
  talk(
    'Sum up the thread about the course in three sentences',
    'Six of eight places are taken. Two people ask for an evening instead of a Saturday. The room is free on both, so it is yours to decide.',
  ),
]

export const workshopConversations: readonly Talk[] = [
  talk('is the stand still at your place?', 'It is lent to Kim until the end of the month.', 'memory_search: stand'),
  talk('how many bsa bottom brackets are left', 'Twelve BSA, three Italian.', 'Read: brain.json'),
  talk('when do the tyres come if i order today', 'On Wednesday, if the order is out before noon.'),
  talk(
    'can you put the tandem on the board',
    'It is on the board, under “doing”: true the wheels, rear 1 mm to the left.',
    'task_add: True the wheels of the blue tandem',
  ),
  talk('whats the torque for carbon seatposts', 'Usually 5 Nm, with paste. What is printed on the post wins.'),
  talk('who opens on saturday?', 'Robin. Kim is there on Tuesdays and Fridays.'),
]

export const kitchenConversations: readonly Talk[] = [
  talk(
    'What can I cook with leeks, potatoes and half a cup of cream?',
    'A gratin: 40 minutes, of which 10 are work. Or a soup in 25. The cream is enough for either, not for both.',
  ),
  talk(
    'The gratin then. For four.',
    '1 kg potatoes, 2 leeks, the cream with 200 ml of milk, nutmeg, salt. 200 °C, 35 minutes; cheese for the last ten.',
  ),
  talk('Put what is missing on the list', 'On the list: milk, nutmeg.', 'task_add: Milk, nutmeg'),
]

/** Answers of jobs; null is HEARTBEAT_OK, which is not sent. */
export const jobConversations: Readonly<Record<string, readonly (string | null)[]>> = {
  inbox: [null, null, 'The 36-hole rims are back at Speiche & Co, 12 pieces.\nMrs Aydin asks about Friday.', null],
  'morning-briefing': [
    'Good morning. 1) Call Mrs Aydin after 16:00. 2) Tyres before noon. 3) The sign is to be measured. 4) Kim comes at 10. 5) Nothing else is due.',
    'Good morning. 1) The tandem is picked up at 17:00. 2) Two repairs came in overnight. 3) The course has six of eight places.',
  ],
  'site-check': [null, null, null, 'The site answers, but the opening hours on it are still the old ones.'],
  'weekly-review': [
    'The week, in a table:\n\n| | repaired | open |\n|---|---:|---:|\n| this week | 17 | 4 |\n| last week | 14 | 6 |\n\nMore tandems than usual. The rims held everything up until Wednesday. Nothing waits for parts now.',
  ],
}
