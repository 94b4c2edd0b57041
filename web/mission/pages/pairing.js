// Pairing: who asks to be let in, who is, and changing one's mind.
import { tell } from '../api.js'
import { useAnswer, useNow } from '../live.js'
import { Act, Ago, Badge, Card, confirmed, Empty, Head, html, Loaded, Table } from '../ui.js'
import { span } from '../words.js'

const tones = { owner: 'good', guest: 'plain', denied: 'bad' }

export const Page = () => {
  const answer = useAnswer('/api/pairing', { concerns: () => true, everyMs: 10_000 })
  const now = useNow()
  const order = async body => {
    try {
      return await tell('/api/pairing', body)
    } finally {
      await answer.load()
    }
  }
  const asOwner =
    ({ name, code }) =>
    async () => {
      const sure = await confirmed({
        title: `Make ${name} an owner?`,
        text: 'An owner may do everything that you may: change the memory, let others in, and more.',
        action: 'Make an owner',
      })
      return sure && order({ approve: code, owner: true })
    }
  const said = result => result?.reason
  return html`
    <${Head} title="Pairing" about="Who may speak with the agent. A stranger is shown a code and waits for you." />
    <${Loaded} answer=${answer} rows=${4}>
      ${({ requests, people }) => html`
        <${Card} title="They ask to be let in">
          ${requests.length === 0 && html`<${Empty}>Nobody asks right now.</${Empty}>`}
          <ul class="rows">${requests.map(
            request => html`
              <li key=${request.code}><div class="row request">
                <code class="code-word">${request.code}</code>
                <span class="grow"><span class="asked" dir="auto">${request.name}</span><span class="under">${request.chat} · ${request.where} · ${span(request.leftMs)} left</span></span>
                <span class="acts">
                  <${Act} class="button primary" run=${() => order({ approve: request.code, owner: false })} done=${said} aria-label=${`Let in ${request.name}`}>Let in</${Act}>
                  <${Act} run=${asOwner(request)} done=${said} aria-label=${`As owner: ${request.name}`}>As owner</${Act}>
                  <${Act} class="button quiet-danger" run=${() => order({ deny: request.code })} done=${said} aria-label=${`Deny ${request.name}`}>Deny</${Act}>
                </span>
              </div></li>`,
          )}</ul>
        </${Card}>
        <${Card} title="People" class=${people.length === 0 ? '' : 'flush'}>
          ${
            people.length === 0
              ? html`<${Empty}>Nobody was let in here. People may also be named in the configuration.</${Empty}>`
              : html`<${Table} label="People" columns=${columnsOf(order, said, now)} rows=${people} keyOf=${called} />`
          }
        </${Card}>`}
    </${Loaded}>`
}

const called = ({ chat, user }) => `${chat}:${user}`

const columnsOf = (order, said, now) => [
  { title: 'Name', cell: ({ name }) => html`<span dir="auto">${name}</span>` },
  { title: 'User', cell: person => called(person) },
  { title: 'As', cell: ({ as }) => html`<${Badge} tone=${tones[as]}>${as}</${Badge}>` },
  { title: 'Since', cell: ({ since }) => html`<${Ago} at=${since} now=${now} />` },
  {
    title: 'Change',
    unseen: true,
    cell: person => {
      const { name, as } = person
      if (as === 'denied')
        return html`<${Act} class="button small" run=${() => order({ approve: called(person), owner: false })} done=${said} aria-label=${`Let in after all: ${name}`}>Let in after all</${Act}>`
      const deny = async () => {
        const sure = await confirmed({
          title: `Lock ${name} out?`,
          text: 'They are not answered any more, until you let them in again.',
          action: 'Lock out',
        })
        return sure && order({ deny: called(person) })
      }
      return html`<${Act} class="button small quiet-danger" run=${deny} done=${said} aria-label=${`Lock out ${name}`}>Lock out</${Act}>`
    },
  },
]
