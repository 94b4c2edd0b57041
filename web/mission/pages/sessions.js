// Sessions: the conversations an agent can continue, and resetting them.
import { useState } from 'preact/hooks'
import { sendJson } from '../api.js'
import { count, plural } from '../format.js'
import { useNow, useResource } from '../live.js'
import { ActionButton, Ago, confirmed, Empty, Head, html, Lane, Loaded, Table } from '../ui.js'

const page = 100
/** The gateway returns no more at a time, and more would make the page slow. */
const most = 1000

export const Page = () => {
  const [limit, setLimit] = useState(page)
  const answer = useResource(`/api/sessions?limit=${limit}`, { refreshOn: () => true, everyMs: 60_000 })
  const now = useNow()
  const clear = (which, question) => async () => {
    if (!(await confirmed({ action: 'Reset', ...question }))) return false
    const result = await sendJson('/api/sessions', { clear: which })
    await answer.load()
    return result
  }
  const cleared = result =>
    result &&
    (result.lanes.length === 0
      ? 'There were no sessions to reset.'
      : `${plural(result.lanes.length, 'session')} reset.`)
  const columns = [
    { title: 'Conversation', cell: ({ lane }) => html`<${Lane} lane=${lane} />` },
    { title: 'Backend', cell: ({ backend }) => backend },
    { title: 'Session', cell: ({ session }) => html`<code title=${session}>${session.slice(0, 8)}</code>` },
    { title: 'Last used', cell: ({ updatedAt }) => html`<${Ago} at=${updatedAt} now=${now} />` },
    { title: 'Unanswered', number: true, cell: ({ unanswered }) => count(unanswered) },
    {
      title: 'Actions',
      unseen: true,
      cell: ({ lane }) => html`
        <${ActionButton} class="button small" aria-label=${`Reset session: ${lane}`} done=${cleared}
          run=${clear(lane, { title: 'Reset this session?', text: `${lane}: the agent forgets this conversation. Memory and files stay.` })}>Reset session</${ActionButton}>`,
    },
  ]
  return html`
    <${Head} title="Sessions" about="Conversations that the agent can continue.">
      <${ActionButton} done=${cleared} run=${clear('stale', { title: 'Reset old sessions?', text: 'The agent forgets the conversations that were not used for 30 days. Memory and files stay.' })}>Reset old sessions</${ActionButton}>
      <${ActionButton} class="button quiet-danger" done=${cleared} run=${clear('all', { title: 'Reset all sessions?', text: 'The agent forgets all conversations. Memory and files stay.', action: 'Reset all' })}>Reset all</${ActionButton}>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ sessions, conversations, next }) =>
        sessions.length === 0
          ? html`<${Empty}>No sessions yet. The first message to the agent starts one.</${Empty}>`
          : html`<div class="card flush"><${Table} label="Sessions" columns=${columns} rows=${sessions} keyOf=${({ lane, backend }) => `${lane} ${backend}`} /></div>
            ${next !== null && html`<p class="centre quiet">The ${count(sessions.length)} most recent of ${plural(conversations, 'conversation')}. ${limit < most ? html`<button type="button" class="button" onClick=${() => setLimit(limit + page)}>Show older</button>` : html`<code>npx aetheel sessions list -n 5000</code> shows more.`}</p>`}`}
    </${Loaded}>`
}
