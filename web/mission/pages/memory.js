// Memory and persona: the files that make the agent who it is, every change of them, and looking for something in what it knows.
import { sizeOf } from '../../chat/files.js'
import { useDrafts } from '../drafts.js'
import { Editor } from '../editor.js'
import { useAnswer, useNow } from '../live.js'
import { hrefOf, useSpot } from '../spot.js'
import { Ago, Badge, Head, html, Loaded } from '../ui.js'
import { plural } from '../words.js'
import { Changes, Search, useLog } from './changes.js'
import { Choice, Desk } from './desk.js'

const tabs = { files: 'Files', changes: 'Changes', search: 'Search' }
/** Without a choice, where there is room for both. */
const first = 'memory.md'

export const Page = () => {
  const spot = useSpot('memory')
  const tab = Object.hasOwn(tabs, spot.tab ?? '') ? spot.tab : 'files'
  const { log, limit, onMore } = useLog()
  const now = useNow()
  const waiting = log.data?.changes.filter(({ state }) => state === 'waiting').length ?? 0
  return html`
    <${Head} title="Memory & persona" about="Who the agent is and what it remembers. A change counts from its next turn on." />
    <nav class="tabs" aria-label="Parts of this page">
      ${Object.entries(tabs).map(
        ([key, title]) => html`
          <a key=${key} href=${hrefOf('memory', key === 'files' ? {} : { tab: key })} aria-current=${key === tab ? 'page' : undefined}>${title}
            ${key === 'changes' && waiting > 0 && html` <${Badge} tone="busy">${waiting}<span class="unseen"> waiting for you</span></${Badge}>`}</a>`,
      )}
    </nav>
    ${tab === 'files' && html`<${Files} chosen=${spot.file} now=${now} />`}
    ${tab === 'changes' && html`<${Changes} log=${log} limit=${limit} onMore=${onMore} now=${now} />`}
    ${tab === 'search' && html`<${Search} now=${now} />`}`
}

const Files = ({ chosen, now }) => {
  const answer = useAnswer('/api/files', { from: file => file.endsWith('.md') })
  const drafts = useDrafts()
  return html`
    <${Loaded} answer=${answer} rows=${6}>
      ${({ files }) => {
        const own = files.filter(({ name }) => !name.startsWith('skills/'))
        const open = own.find(({ name }) => name === chosen) ?? own.find(({ name }) => name === first)
        const list = own.map(
          file =>
            html`<${FileChoice} key=${file.name} file=${file} isOpen=${file === open} isUnsaved=${drafts.has(file.name)} />`,
        )
        return html`
          <${Desk} label="Files" list=${list} chosen=${chosen} back=${hrefOf('memory', {})} backWords="All files">
            ${open && html`<${Editor} key=${open.name} name=${open.name} about=${aboutOf(open, now)} room=${open.room} onSaved=${answer.load}><${Reading} name=${open.name} /></${Editor}>`}
          </${Desk}>`
      }}
    </${Loaded}>`
}

const aboutOf = ({ about, changedAt }, now) =>
  html`${about}${changedAt !== null && html` Changed <${Ago} at=${changedAt} now=${now} />.`}`

const FileChoice = ({ file, isOpen, isUnsaved }) => {
  const { name, about, exists, bytes, state } = file
  const marks = html`
    ${isUnsaved && html`<span class="unsaved">unsaved</span>`}
    ${state === 'too-large' && html`<${Badge} tone="bad">too large</${Badge}>`}
    ${state === 'unusable' && html`<${Badge} tone="bad">not editable</${Badge}>`}`
  const aside = isUnsaved || state === 'unusable' ? null : exists ? sizeOf(bytes) : 'not there yet'
  return html`<${Choice} href=${hrefOf('memory', { file: name })} isOpen=${isOpen} title=${name} about=${about} aside=${aside} marks=${marks} />`
}

const kinds = { 'heartbeat.md': 'heartbeat', 'agents.md': 'cron' }

/** What the gateway makes of a file that is more than words for the agent. */
const Reading = ({ name }) => {
  const kind = kinds[name]
  const answer = useAnswer(kind === undefined ? null : '/api/jobs', { from: file => file === name })
  if (name === 'boot.md') return html`<p class="quiet">This one counts with the next start.</p>`
  if (kind === undefined || answer.data === null) return null
  const jobs = answer.data.jobs.filter(job => job.kind === kind)
  const troubles = answer.data.troubles.filter(({ file }) => file === name)
  return html`
    <div class="reading" role="status">
      <p class="quiet">As it stands on the disk it has ${plural(jobs.length, 'job')} for the <a href="#/schedule">schedule</a>.</p>
      ${troubles.map(({ name: job, why }, place) => html`<div class="notice" key=${place}><span>${job && html`<strong>${job}</strong> `}cannot be used: ${why}</span></div>`)}
    </div>`
}
