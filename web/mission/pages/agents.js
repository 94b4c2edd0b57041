// Sub-agents: what each is working on, with a button to stop it.
import { sendJson } from '../api.js'
import { duration } from '../format.js'
import { useNow, useResource } from '../live.js'
import { ActionButton, Ago, Badge, confirmed, Empty, Head, html, Lane, Loaded } from '../ui.js'

const tones = { done: 'good', failed: 'bad', working: 'busy', waiting: 'plain', stopped: 'plain' }

export const Page = () => {
  const answer = useResource('/api/agents', { refreshOn: () => true, everyMs: 10_000 })
  const now = useNow(5000)
  const stop = async agent => {
    const sure = await confirmed({
      title: `Stop “${agent.name}”?`,
      text: 'It stops working, and so do the sub-agents it has started.',
      action: 'Stop',
    })
    if (!sure) return false
    const result = await sendJson('/api/agents', { stop: agent.id })
    await answer.load()
    return result
  }
  return html`
    <${Head} title="Sub-agents" about="Tasks that an agent has delegated, each in a conversation of its own." />
    <${Loaded} answer=${answer} rows=${4}>
      ${({ agents }) => html`
        ${agents.length === 0 && html`<${Empty}>No sub-agents. The agent starts one when a task can run on its own.</${Empty}>`}
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
      <span class="quiet grow">started <${Ago} at=${at} now=${now} />${endedAt !== null && `, took ${duration(endedAt - at)}`}</span>
      ${
        (state === 'working' || state === 'waiting') &&
        html`<${ActionButton} class="button quiet-danger" run=${stop} done=${`“${name}” stopped.`} aria-label=${`Stop ${name}`}>Stop</${ActionButton}>`
      }
    </div>
  </li>`
