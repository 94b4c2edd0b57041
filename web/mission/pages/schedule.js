// Jobs: when they run next, run one now, pause it, remove it, add one; and what in their files cannot be read.
import { useState } from 'preact/hooks'
import { tell } from '../api.js'
import { useAnswer, useNow } from '../live.js'
import { Act, Ago, Badge, confirmed, Dialog, Empty, Head, html, Loaded } from '../ui.js'
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
        <div class="grow"><h2>${name}</h2><p class="under">${words}${zone && ` (${zone})`}</p></div>
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
  { name: 'name', label: 'Name', required: true, max: 200 },
  {
    name: 'schedule',
    label: 'When',
    required: true,
    max: 500,
    hint: 'every 30 minutes · every morning (9:00 AM) · every Monday at 8:00 · at 2026-11-17 09:00 · or a cron expression',
  },
  { name: 'instruction', label: 'What the agent shall do', required: true, max: 50_000, long: true },
]
const seldom = [
  {
    name: 'channel',
    label: 'Where the answer goes',
    max: 200,
    hint: 'such as discord:123; empty: the default channel',
  },
  { name: 'model', label: 'Model', max: 200, hint: 'model or backend/model' },
  { name: 'zone', label: 'Time zone', max: 100, hint: 'such as Europe/Berlin; empty: the gateway’s own' },
  {
    name: 'skipIf',
    label: 'Only if this has changed',
    max: 2000,
    hint: 'a file of the workspace, an address, or a command',
  },
]

const AddJob = ({ order, onClose }) => {
  const [trouble, setTrouble] = useState(null)
  const [busy, setBusy] = useState(false)
  const submit = async event => {
    event.preventDefault()
    if (busy) return
    setBusy(true)
    const filled = [...new FormData(event.target)].map(([name, value]) => [name, String(value).trim()])
    try {
      await order({ add: Object.fromEntries(filled.filter(([, value]) => value !== '')) })
      onClose()
    } catch (problem) {
      setTrouble(problem)
      setBusy(false)
    }
  }
  return html`
    <${Dialog} label="Add a job" class="form-dialog" onClose=${onClose}>
      <form class="form" onSubmit=${submit}>
        <h2>Add a job</h2>
        ${fields.map(field => html`<${Field} ...${field} />`)}
        <details class="more-text"><summary>More</summary><div class="form">
          ${seldom.map(field => html`<${Field} ...${field} />`)}
          <label class="field-label">If a run was missed
            <select class="input" name="missed"><option value="skip">leave it out</option><option value="once">run once, later</option></select></label>
        </div></details>
        ${trouble && html`<div class="notice" role="alert">${trouble.message}</div>`}
        <div class="acts end">
          <button type="button" class="button" onClick=${onClose}>Cancel</button>
          <button type="submit" class="button primary" aria-disabled=${busy ? 'true' : undefined}>Add</button>
        </div>
      </form>
    </${Dialog}>`
}

const Field = ({ name, label, required, max, long, hint }) => html`
  <label class="field-label">${label}
    ${
      long
        ? html`<textarea class="input" name=${name} rows="4" dir="auto" required=${required} maxlength=${max}></textarea>`
        : html`<input class="input" name=${name} autocomplete="off" required=${required} maxlength=${max} aria-describedby=${hint && `hint-${name}`} />`
    }
    ${hint && html`<span class="quiet" id=${`hint-${name}`}>${hint}</span>`}
  </label>`
