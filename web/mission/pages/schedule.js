// Scheduled jobs: next runs, run now, pause, delete, add; and the errors in their files.
import { useState } from 'preact/hooks'
import { sendJson } from '../api.js'
import { moment, wholeDate } from '../format.js'
import { useNow, useResource } from '../live.js'
import { RecordForm } from '../record-form.js'
import { ActionButton, Ago, Badge, confirmed, Empty, Head, html, Loaded } from '../ui.js'

export const Page = () => {
  const answer = useResource('/api/jobs', { refreshOn: () => true, everyMs: 60_000 })
  const [adding, setAdding] = useState(false)
  const now = useNow()
  const order = async body => {
    const result = await sendJson('/api/jobs', body)
    await answer.load()
    return result
  }
  return html`
    <${Head} title="Schedule" about="What the agent does on a schedule. Jobs are stored in heartbeat.md and agents.md.">
      <button type="button" class="button primary" onClick=${() => setAdding(true)}>Add job</button>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${({ jobs, troubles }) => html`
        ${troubles.map(
          ({ file, name, why }) => html`
            <div class="notice" key=${file + name}><span><strong>${name || file}</strong> in ${file} is not valid: ${why}</span></div>`,
        )}
        ${jobs.length === 0 && html`<${Empty}>No jobs yet. Add one, for example “every morning (9:00 AM)”.</${Empty}>`}
        <ul class="cards">${jobs.map(job => html`<${Job} key=${job.kind + job.name} job=${job} now=${now} order=${order} />`)}</ul>`}
    </${Loaded}>
    ${adding && html`<${AddJob} order=${order} onClose=${() => setAdding(false)} />`}`
}

const Job = ({ job, now, order }) => {
  const { name, kind, words, paused, instruction, next, last, channel, model, zone, missed, skipIf } = job
  const remove = async () => {
    const sure = await confirmed({
      title: `Delete “${name}”?`,
      text: 'The job is deleted from its file and no longer runs.',
      action: 'Delete',
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
              ? 'none while paused'
              : 'none'
            : html`<ol class="nexts">${next.map(at => html`<li key=${at} title=${wholeDate(at)}>${moment(at, now)}</li>`)}</ol>`
        }</dd></div>
        <div><dt>Last run</dt><dd>${last === null ? 'never' : html`<${Ago} at=${last} now=${now} />`}</dd></div>
        ${channel && html`<div><dt>Answers to</dt><dd>${channel}</dd></div>`}
        ${model && html`<div><dt>Model</dt><dd>${model}</dd></div>`}
        ${missed === 'once' && html`<div><dt>If missed</dt><dd>run once, later</dd></div>`}
        ${skipIf && html`<div><dt>Runs only if changed</dt><dd>${skipIf.path ?? skipIf.url ?? skipIf.command}</dd></div>`}
      </dl>
      <details class="more-text"><summary>Instruction</summary><p dir="auto">${instruction}</p></details>
      <div class="acts">
        <${ActionButton} run=${() => order({ run: name })} done=${`“${name}” started.`} aria-label=${`Run now: ${name}`}>Run now</${ActionButton}>
        <${ActionButton} run=${() => order({ pause: name, paused: !paused })} done=${paused ? `“${name}” resumed.` : `“${name}” paused.`}
          aria-label=${`${paused ? 'Resume' : 'Pause'} ${name}`}>${paused ? 'Resume' : 'Pause'}</${ActionButton}>
        <${ActionButton} class="button quiet-danger" run=${remove} done=${`“${name}” deleted.`} aria-label=${`Delete ${name}`}>Delete</${ActionButton}>
      </div>
    </li>`
}

const fields = [
  { name: 'name', label: 'Name', required: true, most: 200 },
  {
    name: 'schedule',
    label: 'Schedule',
    required: true,
    most: 500,
    hint: 'every 30 minutes · every morning (9:00 AM) · every Monday at 8:00 · at 2026-11-17 09:00 · or a cron expression',
  },
  { name: 'instruction', label: 'Instruction', required: true, most: 50_000, kind: 'long' },
  ...[
    {
      name: 'channel',
      label: 'Send answer to',
      most: 200,
      hint: 'e.g. discord:123; leave empty for the default channel',
    },
    { name: 'model', label: 'Model', most: 200, hint: 'model or backend/model; leave empty for the default' },
    {
      name: 'zone',
      label: 'Time zone',
      most: 100,
      hint: 'e.g. Europe/Berlin; leave empty for the gateway’s time zone',
    },
    {
      name: 'skipIf',
      label: 'Run only if changed',
      most: 2000,
      hint: 'a workspace file, a URL or a command',
    },
    {
      name: 'missed',
      label: 'If a run was missed',
      kind: 'choice',
      choices: [
        ['skip', 'skip it'],
        ['once', 'run it once, later'],
      ],
    },
  ].map(field => ({ ...field, seldom: true })),
]

const AddJob = ({ order, onClose }) => {
  const add = typed => {
    const filled = Object.entries(typed).map(([name, value]) => [name, value.trim()])
    return order({ add: Object.fromEntries(filled.filter(([, value]) => value !== '')) })
  }
  return html`<${RecordForm} title="Add job" what="job" fields=${fields} records=${{ path: '/api/jobs', add }} item=${null} start=${{ missed: 'skip' }} onClose=${onClose} />`
}
