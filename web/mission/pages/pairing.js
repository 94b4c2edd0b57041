// Pairing: access requests, and the people who have access.
import { sendJson } from '../api.js'
import { span } from '../format.js'
import { useNow, useResource } from '../live.js'
import { ActionButton, Ago, Badge, Card, confirmed, Empty, Head, html, Loaded, Table } from '../ui.js'

const tones = { owner: 'good', guest: 'plain', denied: 'bad' }

export const Page = () => {
  const answer = useResource('/api/pairing', { refreshOn: () => true, everyMs: 10_000 })
  const now = useNow()
  const order = async body => {
    try {
      return await sendJson('/api/pairing', body)
    } finally {
      await answer.load()
    }
  }
  const asOwner =
    ({ name, code }) =>
    async () => {
      const sure = await confirmed({
        title: `Make ${name} an owner?`,
        text: 'Owners can do everything you can, such as changing the memory and approving other people.',
        action: 'Make owner',
      })
      return sure && order({ approve: code, owner: true })
    }
  const messageOf = result => result?.reason
  return html`
    <${Head} title="Pairing" about="Who can talk to the agent. Unknown people get a code and wait for your approval." />
    <${Loaded} answer=${answer} rows=${4}>
      ${({ requests, people }) => html`
        <${Card} title="Access requests">
          ${requests.length === 0 && html`<${Empty}>No pending requests.</${Empty}>`}
          <ul class="rows">${requests.map(
            request => html`
              <li key=${request.code}><div class="row request">
                <code class="code-word">${request.code}</code>
                <span class="grow"><span class="asked" dir="auto">${request.name}</span><span class="under">${request.chat} · ${request.where} · expires in ${span(request.leftMs)}</span></span>
                <span class="acts">
                  <${ActionButton} class="button primary" run=${() => order({ approve: request.code, owner: false })} done=${messageOf} aria-label=${`Approve ${request.name}`}>Approve</${ActionButton}>
                  <${ActionButton} run=${asOwner(request)} done=${messageOf} aria-label=${`Approve as owner: ${request.name}`}>Approve as owner</${ActionButton}>
                  <${ActionButton} class="button quiet-danger" run=${() => order({ deny: request.code })} done=${messageOf} aria-label=${`Deny ${request.name}`}>Deny</${ActionButton}>
                </span>
              </div></li>`,
          )}</ul>
        </${Card}>
        <${Card} title="People" class=${people.length === 0 ? '' : 'flush'}>
          ${
            people.length === 0
              ? html`<${Empty}>No one has been approved here yet. People can also be listed in the configuration.</${Empty}>`
              : html`<${Table} label="People" columns=${columnsOf(order, messageOf, now)} rows=${people} keyOf=${idOf} />`
          }
        </${Card}>`}
    </${Loaded}>`
}

const idOf = ({ chat, user }) => `${chat}:${user}`

const columnsOf = (order, messageOf, now) => [
  { title: 'Name', cell: ({ name }) => html`<span dir="auto">${name}</span>` },
  { title: 'User', cell: person => idOf(person) },
  { title: 'Role', cell: ({ as }) => html`<${Badge} tone=${tones[as]}>${as}</${Badge}>` },
  { title: 'Since', cell: ({ since }) => html`<${Ago} at=${since} now=${now} />` },
  {
    title: 'Actions',
    unseen: true,
    cell: person => {
      const { name, as } = person
      if (as === 'denied')
        return html`<${ActionButton} class="button small" run=${() => order({ approve: idOf(person), owner: false })} done=${messageOf} aria-label=${`Approve ${name}`}>Approve</${ActionButton}>`
      const deny = async () => {
        const sure = await confirmed({
          title: `Revoke access for ${name}?`,
          text: 'They get no more answers until you approve them again.',
          action: 'Revoke access',
        })
        return sure && order({ deny: idOf(person) })
      }
      return html`<${ActionButton} class="button small quiet-danger" run=${deny} done=${messageOf} aria-label=${`Revoke access for ${name}`}>Revoke access</${ActionButton}>`
    },
  },
]
