// Memory and persona: the files that define the agent, the log of their changes, and a search.
import { sizeOf } from '../../chat/files.js'
import { useDrafts } from '../drafts.js'
import { Editor } from '../editor.js'
import { plural } from '../format.js'
import { useNow, useResource } from '../live.js'
import { hrefOf, useRouteParams } from '../route-params.js'
import { Ago, Badge, Head, html, Loaded } from '../ui.js'
import { Changes, Search, useChangeLog } from './changes.js'
import { Choice, ListDetail } from './list-detail.js'

const tabs = { files: 'Files', changes: 'Changes', search: 'Search' }
/** Shown on wide screens when no file is chosen. */
const first = 'memory.md'

export const Page = () => {
  const params = useRouteParams('memory')
  const tab = Object.hasOwn(tabs, params.tab ?? '') ? params.tab : 'files'
  const { log, limit, onMore } = useChangeLog()
  const now = useNow()
  const waiting = log.data?.changes.filter(({ state }) => state === 'waiting').length ?? 0
  return html`
    <${Head} title="Memory & persona" about="Who the agent is and what it remembers. Changes take effect with its next turn." />
    <nav class="tabs" aria-label="Sections">
      ${Object.entries(tabs).map(
        ([key, title]) => html`
          <a key=${key} href=${hrefOf('memory', key === 'files' ? {} : { tab: key })} aria-current=${key === tab ? 'page' : undefined}>${title}
            ${key === 'changes' && waiting > 0 && html` <${Badge} tone="busy">${waiting}<span class="unseen"> waiting for approval</span></${Badge}>`}</a>`,
      )}
    </nav>
    ${tab === 'files' && html`<${Files} chosen=${params.file} now=${now} />`}
    ${tab === 'changes' && html`<${Changes} log=${log} limit=${limit} onMore=${onMore} now=${now} />`}
    ${tab === 'search' && html`<${Search} now=${now} />`}`
}

const Files = ({ chosen, now }) => {
  const answer = useResource('/api/files', { refreshOnFile: file => file.endsWith('.md') })
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
          <${ListDetail} label="Files" list=${list} chosen=${chosen} back=${hrefOf('memory', {})} backLabel="All files">
            ${open && html`<${Editor} key=${open.name} name=${open.name} about=${aboutOf(open, now)} room=${open.room} onSaved=${answer.load}><${Reading} name=${open.name} /></${Editor}>`}
          </${ListDetail}>`
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
  const aside = isUnsaved || state === 'unusable' ? null : exists ? sizeOf(bytes) : 'does not exist'
  return html`<${Choice} href=${hrefOf('memory', { file: name })} isOpen=${isOpen} title=${name} about=${about} aside=${aside} marks=${marks} />`
}

const kinds = { 'heartbeat.md': 'heartbeat', 'agents.md': 'cron' }

/** How the gateway interprets a file that is more than instructions for the agent. */
const Reading = ({ name }) => {
  const kind = kinds[name]
  const answer = useResource(kind === undefined ? null : '/api/jobs', { refreshOnFile: file => file === name })
  if (name === 'boot.md') return html`<p class="quiet">Takes effect at the next start.</p>`
  if (kind === undefined || answer.data === null) return null
  const jobs = answer.data.jobs.filter(job => job.kind === kind)
  const troubles = answer.data.troubles.filter(({ file }) => file === name)
  return html`
    <div class="reading" role="status">
      <p class="quiet">The saved file defines ${plural(jobs.length, 'job')} in the <a href="#/schedule">schedule</a>.</p>
      ${troubles.map(({ name: job, why }, place) => html`<div class="notice" key=${place}><span>${job && html`<strong>${job}</strong> `}is not valid: ${why}</span></div>`)}
    </div>`
}
