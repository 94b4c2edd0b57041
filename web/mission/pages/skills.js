// Skills: what the agent knows how to do, and the errors of those it cannot use; to view, edit, create and delete them.
import { useState } from 'preact/hooks'
import { sendJson } from '../api.js'
import { saveDraft, useDrafts } from '../drafts.js'
import { Editor, undoOf } from '../editor.js'
import { useResource } from '../live.js'
import { RecordForm } from '../record-form.js'
import { hrefOf, useRouteParams } from '../route-params.js'
import { ActionButton, Badge, confirmed, Empty, Head, html, Loaded, toast } from '../ui.js'
import { Choice, ListDetail } from './list-detail.js'

const nameRule = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/
const ruleWords = 'lowercase letters, digits and dashes, at most 64 characters'
/** Skills in folders with other names are listed, but cannot be edited here. */
const editable = /^skills\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}\/SKILL\.md$/
const fileOf = name => `skills/${name}/SKILL.md`
const folderOf = file => file.split('/')[1]
/** Navigates when the action is done, unless the owner has gone elsewhere in the meantime. */
const navigateLater = () => {
  const { hash } = location
  return params => {
    if (location.hash === hash) location.hash = hrefOf('skills', params)
  }
}

export const Page = () => {
  const { skill: chosen } = useRouteParams('skills')
  const answer = useResource('/api/skills', { refreshOnFile: file => file === 'skills' || file.startsWith('skills/') })
  const drafts = useDrafts()
  const [making, setMaking] = useState(false)
  return html`
    <${Head} title="Skills" about="Instructions for recurring tasks. The agent sees their descriptions and reads a skill when it needs it.">
      <button type="button" class="button primary" onClick=${() => setMaking(true)}>New skill</button>
    </${Head}>
    <${Loaded} answer=${answer} rows=${5}>
      ${found => {
        const all = entriesOf(found, drafts)
        const open = all.find(({ folder }) => folder === chosen) ?? all[0]
        const list = all.map(
          entry =>
            html`<${SkillChoice} key=${entry.file} entry=${entry} isOpen=${entry === open} isUnsaved=${drafts.has(entry.file)} />`,
        )
        return html`
          ${all.length === 0 && html`<${Empty}>No skills yet. Create one: a few lines on how something is done.</${Empty}>`}
          ${
            all.length > 0 &&
            html`<${ListDetail} label="Skills" list=${list} chosen=${all.some(({ folder }) => folder === chosen) ? chosen : undefined} back=${hrefOf('skills', {})} backLabel="All skills">
              <${Skill} key=${open.file} entry=${open} load=${answer.load} />
            </${ListDetail}>`
          }
          <${Offered} offered=${found.offered} load=${answer.load} />`
      }}
    </${Loaded}>
    ${making && html`<${NewSkill} taken=${answer.data?.skills ?? []} load=${answer.load} onClose=${() => setMaking(false)} />`}`
}

/** A deleted skill with unsaved edits stays in the list. */
const gone = 'no longer exists. Your edits are kept: save to create it again, or discard them'

const entriesOf = ({ skills, troubles }, drafts) => {
  const there = new Set([...skills, ...troubles].map(({ file }) => file))
  const typed = [...drafts].filter(file => editable.test(file) && !there.has(file))
  return [
    ...skills.map(skill => ({ ...skill, why: null })),
    ...troubles.map(({ file, why }) => ({ file, why, from: 'yours' })),
    ...typed.map(file => ({ file, why: gone, from: 'yours' })),
  ]
    .map(entry => ({ ...entry, folder: folderOf(entry.file) }))
    .sort((a, b) => (a.folder < b.folder ? -1 : 1))
}

const SkillChoice = ({ entry, isOpen, isUnsaved }) => {
  const { folder, name = folder, description, from, why } = entry
  const marks = html`
    ${isUnsaved && html`<span class="unsaved">unsaved</span>`}
    ${why !== null ? html`<${Badge} tone="bad">not loaded</${Badge}>` : html`<${Badge}>${from === 'shipped' ? 'built-in' : 'yours'}</${Badge}>`}`
  return html`<${Choice} href=${hrefOf('skills', { skill: folder })} isOpen=${isOpen} title=${name} about=${description} marks=${marks} />`
}

const Skill = ({ entry, load }) => {
  const { file, folder, name = folder, from, why } = entry
  const drafts = useDrafts()
  const [mine, setMine] = useState(false)
  if (!editable.test(file))
    return html`<section class="editor card" aria-label=${name}><h2>${name}</h2><p>The folder name has characters that are not supported here. Edit ${file} with a text editor.</p></section>`
  const isLocked = from === 'shipped' && !mine && !drafts.has(file)
  const locked =
    isLocked &&
    html`<div class="row-note"><p class="grow quiet">This skill ships with the gateway and is unchanged. Edited skills are yours.</p>
      <button type="button" class="button small" onClick=${() => setMine(true)}>Edit</button></div>`
  const remove = base => async () => {
    const sure = await confirmed({
      title: `Delete “${name}”?`,
      text: `The agent can no longer use it. Only SKILL.md is deleted; other files in skills/${folder} stay. You can undo this under Memory & persona, Changes.`,
      action: 'Delete',
    })
    if (!sure) return
    const go = navigateLater()
    const { change } = await sendJson('/api/file', { name: file, text: null, version: base.version })
    saveDraft(file, null)
    toast(`“${name}” deleted.`, 'good', undoOf(change))
    go({})
    await load()
  }
  return html`
    <${Editor} name=${file} title=${name} about=${file} locked=${locked} onSaved=${load}
      acts=${({ base }) => base.version !== null && html`<${ActionButton} class="button small quiet-danger" run=${remove(base)} aria-label=${`Delete ${name}`}>Delete</${ActionButton}>`}>
      ${why !== null && html`<div class="notice" role="status"><span><strong>${file}</strong> ${why}</span></div>`}
    </${Editor}>`
}

const Offered = ({ offered, load }) => {
  if (offered.length === 0) return null
  const add =
    ({ name, text }) =>
    async () => {
      await sendJson('/api/file', { name: fileOf(name), text, version: null })
      await load()
    }
  return html`
    <section class="card" aria-label="Available skills"><div class="card-head"><h2>Available skills</h2></div>
      <ul class="rows">${offered.map(
        skill => html`
          <li key=${skill.name}><div class="row"><span class="grow"><span class="asked">${skill.name}</span><span class="under">${skill.description}</span></span>
            <${ActionButton} class="button small" run=${add(skill)} done=${`“${skill.name}” added.`} aria-label=${`Add ${skill.name}`}>Add</${ActionButton}></div></li>`,
      )}</ul>
    </section>`
}

const newFields = [
  { name: 'name', label: 'Name', required: true, most: 64, hint: `${ruleWords}, e.g. weekly-report` },
  {
    name: 'description',
    label: 'Description',
    kind: 'long',
    required: true,
    most: 1000,
    hint: 'What the skill does and when to use it. The agent decides by this line.',
  },
]

const NewSkill = ({ taken, load, onClose }) => {
  const add = async typed => {
    const name = typed.name.trim()
    const description = typed.description.replace(/\s+/g, ' ').trim()
    if (!nameRule.test(name)) throw new Error(`The name may contain only ${ruleWords}.`)
    if (description === '') throw new Error('Describe what the skill does and when to use it.')
    const isTaken = new Error(`A skill named ${name} already exists.`)
    if (taken.some(skill => skill.name === name)) throw isTaken
    const go = navigateLater()
    try {
      await sendJson('/api/file', { name: fileOf(name), text: template(name, description), version: null })
    } catch (problem) {
      throw problem.status === 409 ? isTaken : problem
    }
    await load()
    go({ skill: name })
  }
  return html`<${RecordForm} title="New skill" what="skill" add="Create" fields=${newFields} records=${{ path: '/api/skills', add }} item=${null} onClose=${onClose} />`
}

/** Anything but a plain line is quoted as JSON, which is valid YAML. */
const template = (name, description) => {
  const line = /^[A-Za-z][^:#"'\\]*$/.test(description) ? description : JSON.stringify(description)
  const title = name.replaceAll('-', ' ').replace(/^./, letter => letter.toUpperCase())
  return `---\nname: ${name}\ndescription: ${line}\n---\n\n# ${title}\n\n1. First, …\n`
}
