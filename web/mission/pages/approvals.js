// Approvals: what agents ask you, how it was answered, and the rules that answer without asking.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { requestCard } from '../../chat/request-card.js'
import { outcomeOf } from '../../chat/request-words.js'
import { getJson, sendJson } from '../api.js'
import { moment } from '../format.js'
import { useRequestNews, useResource } from '../live.js'
import { hrefOf } from '../route-params.js'
import { ActionButton, Badge, Card, confirmed, Empty, focusHeading, Head, html, Loaded, Table, toast } from '../ui.js'

/** As many as the gateway returns at once. */
const pageSize = 100

export const Page = () => {
  const open = useResource('/api/requests')
  const past = useResource('/api/requests?state=all')
  const [older, setOlder] = useState([])
  const reload = () => Promise.all([open.load(), past.load()])
  useRequestNews(reload)
  const answered = request => {
    toast(`${outcomeOf(request)}.`)
    reload()
  }
  return html`
    <${Head} title="Approvals" about="What agents ask before they go on. It does not matter where you answer: all other places show it." />
    <${Card} title="Waiting for an answer">
      <${Loaded} answer=${open} rows=${2}>
        ${({ requests }) => html`
          ${requests.length === 0 && html`<${Empty}>Nothing is waiting for you.</${Empty}>`}
          <${Requests} requests=${requests} answered=${answered} />`}
      </${Loaded}>
    </${Card}>
    <${Card} title="History">
      <${Loaded} answer=${past} rows=${4}>
        ${({ requests }) => html`<${History} latest=${requests} older=${older} onOlder=${setOlder} />`}
      </${Loaded}>
    </${Card}>
    <${Rules} />`
}

const tones = { allow: 'good', ask: 'busy', deny: 'bad' }

/** Rules are added by “Allow always”, and by hand in permissions.json. */
const Rules = () => {
  const answer = useResource('/api/permissions', { refreshOnFile: file => file === 'permissions.json' })
  useRequestNews(() => answer.load())
  const revoke =
    ({ list, rule, conversation, project }) =>
    async () => {
      const sure = await confirmed({
        title: 'Revoke this rule?',
        text: `${list}: ${rule}. It is removed from permissions.json.`,
        action: 'Revoke',
      })
      if (!sure) return false
      await sendJson('/api/permissions', { remove: { list, rule, conversation, project } })
      await answer.load()
      return true
    }
  return html`
    <${Loaded} answer=${answer} rows=${2}>
      ${({ rules, problems, broken }) => html`
        <${Card} title="Rules" class=${rules.length === 0 ? '' : 'flush'}>
          ${[...(broken === null ? [] : [broken]), ...problems].map((why, place) => html`<div class="notice" key=${place}><span>${why}</span></div>`)}
          ${
            rules.length === 0
              ? html`<${Empty}>No rules yet. “Allow always” adds one to permissions.json.</${Empty}>`
              : html`<${Table} label="Rules" columns=${columnsOf(revoke)} rows=${rules} keyOf=${keyOf} />`
          }
        </${Card}>`}
    </${Loaded}>`
}

const keyOf = ({ list, rule, conversation, project }) => [list, rule, conversation, project].join(' ')

const columnsOf = revoke => [
  { title: 'Rule', cell: ({ rule }) => html`<code class="rule" dir="ltr">${rule}</code>` },
  { title: 'Effect', cell: ({ list }) => html`<${Badge} tone=${tones[list]}>${list}</${Badge}>` },
  { title: 'Where', cell: ({ conversation, project }) => conversation ?? project ?? 'everywhere' },
  {
    title: 'Added',
    cell: ({ by, added }) =>
      by === null && added === null
        ? 'by hand'
        : [by && `by ${by}`, added && moment(Date.parse(added))].filter(Boolean).join(', '),
  },
  {
    title: 'Actions',
    unseen: true,
    cell: rule =>
      html`<${ActionButton} class="button small quiet-danger" run=${revoke(rule)} done="Revoked." aria-label=${`Revoke ${rule.rule}`}>Revoke</${ActionButton}>`,
  },
]

const History = ({ latest, older, onOlder }) => {
  const known = new Set(latest.map(({ id }) => id))
  const all = [...latest, ...older.filter(({ id }) => !known.has(id))]
  const ended = all.filter(({ state }) => state !== 'open')
  const [isAll, setIsAll] = useState(false)
  const more = async () => {
    const { requests } = await getJson(`/api/requests?state=all&before=${all.at(-1).id}`)
    onOlder([...older, ...requests])
    setIsAll(requests.length < pageSize)
  }
  return html`
    ${ended.length === 0 && html`<${Empty}>Nothing has been asked yet.</${Empty}>`}
    <${Requests} requests=${ended} />
    ${!isAll && latest.length >= pageSize && html`<p class="centre"><${ActionButton} run=${more}>Show older</${ActionButton}></p>`}`
}

const Requests = ({ requests, answered }) => html`
  <ul class="asks">${requests.map(request => html`<${Request} key=${request.id} request=${request} answered=${answered} />`)}</ul>`

/** The same card as in the chat. */
const Request = ({ request, answered }) => {
  const place = useRef(null)
  const card = useRef(null)
  const latest = useRef(answered)
  latest.current = answered
  useLayoutEffect(() => {
    const drawn = requestCard({
      answered: given => latest.current?.(given),
      eventLink: event => hrefOf('approvals', { event }),
    })
    card.current = drawn
    place.current.append(drawn.element)
    // Answered, so it moves to the history: the focus must not get lost.
    return () => drawn.element.contains(document.activeElement) && setTimeout(focusHeading)
  }, [])
  useLayoutEffect(() => card.current.update(request), [request.state])
  return html`<li ref=${place}></li>`
}
