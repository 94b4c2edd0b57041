// Sessions: which conversations go on where, and beginning one anew.
import { tell } from '../api.js'
import { useAnswer, useNow } from '../live.js'
import { Act, Ago, confirmed, Empty, Head, html, Lane, Loaded, Table } from '../ui.js'
import { count, plural } from '../words.js'

export const Page = () => {
  const answer = useAnswer('/api/sessions', { concerns: () => true, everyMs: 60_000 })
  const now = useNow()
  const clear = (which, question) => async () => {
    if (!(await confirmed({ action: 'Begin anew', ...question }))) return false
    const result = await tell('/api/sessions', { clear: which })
    await answer.load()
    return result
  }
  const cleared = result =>
    result &&
    (result.lanes.length === 0
      ? 'There was nothing to clear.'
      : `${plural(result.lanes.length, 'conversation')} will begin anew.`)
  const columns = [
    { title: 'Conversation', cell: ({ lane }) => html`<${Lane} lane=${lane} />` },
    { title: 'Backend', cell: ({ backend }) => backend },
    { title: 'Session', cell: ({ session }) => html`<code title=${session}>${session.slice(0, 8)}</code>` },
    { title: 'Last used', cell: ({ updatedAt }) => html`<${Ago} at=${updatedAt} now=${now} />` },
    { title: 'Unanswered', number: true, cell: ({ unanswered }) => count(unanswered) },
    {
      title: 'Begin anew',
      unseen: true,
      cell: ({ lane }) => html`
        <${Act} class="button small" aria-label=${`Begin anew: ${lane}`} done=${cleared}
          run=${clear(lane, { title: 'Begin this conversation anew?', text: `${lane}: the agent forgets what was said in it. Memory and files stay.` })}>Begin anew</${Act}>`,
    },
  ]
  return html`
    <${Head} title="Sessions" about="Conversations that the agent can go on with.">
      <${Act} done=${cleared} run=${clear('stale', { title: 'Clear old sessions?', text: 'Conversations that were not used for 30 days begin anew.' })}>Clear old ones</${Act}>
      <${Act} class="button quiet-danger" done=${cleared} run=${clear('all', { title: 'Begin all conversations anew?', text: 'The agent forgets what was said in each of them. Memory and files stay.', action: 'Begin all anew' })}>Clear all</${Act}>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ sessions }) =>
        sessions.length === 0
          ? html`<${Empty}>No sessions yet: nobody has spoken with the agent.</${Empty}>`
          : html`<div class="card flush"><${Table} label="Sessions" columns=${columns} rows=${sessions} keyOf=${({ lane, backend }) => `${lane} ${backend}`} /></div>`}
    </${Loaded}>`
}
