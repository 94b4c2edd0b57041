// Jobs: when they run next, run one now, pause it, remove it, add one; and what in their files cannot be read.
import { useState } from 'preact/hooks'
import { tell } from '../api.js'
import { useAnswer, useNow } from '../live.js'
import { RecordForm } from '../record-form.js'
import { Act, Ago, Badge, confirmed, Empty, Head, html, Loaded } from '../ui.js'
import { moment, wholeDate } from '../words.js'

export const Page = () => {
  const answer = useAnswer('/api/jobs', { concerns: () => true, everyMs: 60_000 })
  const [adding, setAdding] = useState(false)
  const now = useNow()
  const order = async body => {
    const result = await tell('/api/jobs', body)
    await answer.load()
    return result
  }
  return html`
    <${Head} title="Schedule" about="What the agent does when time passes. The jobs are in heartbeat.md and agents.md.">
      <button type="button" class="button primary" onClick=${() => setAdding(true)}>Add a job</button>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ jobs, troubles }) => html`
        ${troubles.map(
          ({ file, name, why }) => html`
            <div class="notice" key=${file + name}><span><strong>${name || file}</strong> in ${file} cannot be used: ${why}</span></div>`,
        )}
        ${jobs.length === 0 && html`<${Empty}>No jobs yet. Add one: for instance “every morning (9:00 AM)”.</${Empty}>`}
        <ul class="cards">${jobs.map(job => html`<${Job} key=${job.kind + job.name} job=${job} now=${now} order=${order} />`)}</ul>`}
    </${Loaded}>
    ${adding && html`<${AddJob} order=${order} onClose=${() => setAdding(false)} />`}`
}

const Job = ({ job, now, order }) => {
  const { name, kind, words, paused, instruction, next, last, channel, model, zone, missed, skipIf } = job
  const remove = async () => {
    const sure = await confirmed({
      title: `Remove “${name}”?`,
      text: 'The job is taken out of its file and does not run any more.',
      action: 'Remove',
    })
    return sure && order({ remove: name })
  }
  return html`
    <li class="card job ${paused ? 'is-paused' : ''}">
      <div class="job-head">
        <div class="grow"><h2 dir="auto">${name}</h2><p class="under">${words}${zone && ` (${zone})`}</p></div>
        ${paused ? html`<${Badge} tone="busy">paused</${Badge}>` : html`<${Badge}>${kind}</${Badge}>`}
      </div>
      <dl class="facts">
        <div class="wide-fact"><dt>Next runs</dt><dd>${
          next.length === 0
            ? paused
              ? 'none while it is paused'
              : 'none'
            : html`<ol class="nexts">${next.map(at => html`<li key=${at} title=${wholeDate(at)}>${moment(at, now)}</li>`)}</ol>`
        }</dd></div>
        <div><dt>Last run</dt><dd>${last === null ? 'never' : html`<${Ago} at=${last} now=${now} />`}</dd></div>
        ${channel && html`<div><dt>Answers to</dt><dd>${channel}</dd></div>`}
        ${model && html`<div><dt>Model</dt><dd>${model}</dd></div>`}
        ${missed === 'once' && html`<div><dt>If missed</dt><dd>once, later</dd></div>`}
        ${skipIf && html`<div><dt>Only if changed</dt><dd>${skipIf.path ?? skipIf.url ?? skipIf.command}</dd></div>`}
      </dl>
      <details class="more-text"><summary>Instruction</summary><p dir="auto">${instruction}</p></details>
      <div class="acts">
        <${Act} run=${() => order({ run: name })} done=${`“${name}” runs now.`} aria-label=${`Run now: ${name}`}>Run now</${Act}>
        <${Act} run=${() => order({ pause: name, paused: !paused })} done=${paused ? `“${name}” goes on.` : `“${name}” is paused.`}
          aria-label=${`${paused ? 'Resume' : 'Pause'} ${name}`}>${paused ? 'Resume' : 'Pause'}</${Act}>
        <${Act} class="button quiet-danger" run=${remove} done=${`“${name}” is removed.`} aria-label=${`Remove ${name}`}>Remove</${Act}>
      </div>
    </li>`
}

const fields = [
  { name: 'name', label: 'Name', required: true, most: 200 },
  {
    name: 'schedule',
    label: 'When',
    required: true,
    most: 500,
    hint: 'every 30 minutes · every morning (9:00 AM) · every Monday at 8:00 · at 2026-11-17 09:00 · or a cron expression',
  },
  { name: 'instruction', label: 'What the agent shall do', required: true, most: 50_000, kind: 'long' },
  ...[
    {
      name: 'channel',
      label: 'Where the answer goes',
      most: 200,
      hint: 'such as discord:123; empty: the default channel',
    },
    { name: 'model', label: 'Model', most: 200, hint: 'model or backend/model' },
    { name: 'zone', label: 'Time zone', most: 100, hint: 'such as Europe/Berlin; empty: the gateway’s own' },
    {
      name: 'skipIf',
      label: 'Only if this has changed',
      most: 2000,
      hint: 'a file of the workspace, an address, or a command',
    },
    {
      name: 'missed',
      label: 'If a run was missed',
      kind: 'choice',
      choices: [
        ['skip', 'leave it out'],
        ['once', 'run once, later'],
      ],
    },
  ].map(field => ({ ...field, seldom: true })),
]

const AddJob = ({ order, onClose }) => {
  const add = typed => {
    const filled = Object.entries(typed).map(([name, value]) => [name, value.trim()])
    return order({ add: Object.fromEntries(filled.filter(([, value]) => value !== '')) })
  }
  return html`<${RecordForm} title="Add a job" what="job" fields=${fields} records=${{ path: '/api/jobs', add }} item=${null} start=${{ missed: 'skip' }} onClose=${onClose} />`
}
