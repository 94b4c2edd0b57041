// Sub-agents: what they work on, and stopping one.
import { tell } from '../api.js'
import { useAnswer, useNow } from '../live.js'
import { Act, Ago, Badge, confirmed, Empty, Head, html, Lane, Loaded } from '../ui.js'
import { took } from '../words.js'

const tones = { done: 'good', failed: 'bad', working: 'busy', waiting: 'plain', stopped: 'plain' }

export const Page = () => {
  const answer = useAnswer('/api/agents', { concerns: () => true, everyMs: 10_000 })
  const now = useNow(5000)
  const stop = async agent => {
    const sure = await confirmed({
      title: `Stop “${agent.name}”?`,
      text: 'It ends what it does, and so does what it has started itself.',
      action: 'Stop',
    })
    if (!sure) return false
    const result = await tell('/api/agents', { stop: agent.id })
    await answer.load()
    return result
  }
  return html`
    <${Head} title="Sub-agents" about="Work that an agent has handed on, each in a conversation of its own." />
    <${Loaded} answer=${answer} rows=${4}>
      ${({ agents }) => html`
        ${agents.length === 0 && html`<${Empty}>No sub-agents. The agent starts one when a piece of work can go on by itself.</${Empty}>`}
        <ul class="cards">${agents.map(agent => html`<${Agent} key=${agent.id} agent=${agent} now=${now} stop=${() => stop(agent)} />`)}</ul>`}
    </${Loaded}>`
}

const Agent = ({ agent: { name, instruction, parent, model, state, at, endedAt, progress, depth }, now, stop }) => html`
  <li class="card job">
    <div class="job-head">
      <div class="grow"><h2 dir="auto">${name}</h2><p class="under">for <${Lane} lane=${parent} />${depth > 1 && ', started by a sub-agent'}${model && ` · ${model}`}</p></div>
      <${Badge} tone=${tones[state]}>${state}</${Badge}>
    </div>
    ${progress !== '' && html`<p class="progress" dir="auto">${progress}</p>`}
    <details class="more-text"><summary>Instruction</summary><p dir="auto">${instruction}</p></details>
    <div class="acts">
      <span class="quiet grow">began <${Ago} at=${at} now=${now} />${endedAt !== null && `, took ${took(endedAt - at)}`}</span>
      ${
        (state === 'working' || state === 'waiting') &&
        html`<${Act} class="button quiet-danger" run=${stop} done=${`“${name}” is stopped.`} aria-label=${`Stop ${name}`}>Stop</${Act}>`
      }
    </div>
  </li>`
