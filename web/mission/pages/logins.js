// The browsers that are logged in, as a card on the Settings page.
import { sendJson } from '../api.js'
import { useNow, useResource } from '../live.js'
import { ActionButton, Ago, Badge, Card, Empty, html, Loaded, Table } from '../ui.js'

export const Logins = () => {
  const answer = useResource('/api/logins', { everyMs: 60_000 })
  const now = useNow()
  const revoke = async which => {
    try {
      return await sendJson('/api/logins', { revoke: which })
    } finally {
      await answer.load()
    }
  }
  return html`
    <${Loaded} answer=${answer} rows=${1}>
      ${({ logins }) => html`
        <${Card} title="Logged-in browsers" class=${logins.length === 0 ? '' : 'flush'}>
          ${
            logins.length === 0
              ? html`<${Empty}>No browser is logged in.</${Empty}>`
              : html`<${Table} label="Logged-in browsers" columns=${columnsOf(revoke, now)} rows=${logins} keyOf=${({ id }) => id} />`
          }
        </${Card}>`}
    </${Loaded}>`
}

const columnsOf = (revoke, now) => [
  {
    title: 'Browser',
    cell: ({ name, current }) => html`${name} ${current && html`<${Badge} tone="good">this one</${Badge}>`}`,
  },
  { title: 'Since', cell: ({ at }) => html`<${Ago} at=${at} now=${now} />` },
  { title: 'Last used', cell: ({ usedAt }) => html`<${Ago} at=${usedAt} now=${now} />` },
  {
    title: 'Actions',
    unseen: true,
    cell: ({ id, name }) =>
      html`<${ActionButton} class="button small quiet-danger" run=${() => revoke(id)} done=${() => 'Logged out.'} aria-label=${`Log out ${name}`}>Log out</${ActionButton}>`,
  },
]
