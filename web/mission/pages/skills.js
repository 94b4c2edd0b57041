// Skills: what the agent knows how to do, where each comes from, what is wrong with those that cannot be read; reading, writing, removing.
import { useState } from 'preact/hooks'
import { tell } from '../api.js'
import { keepDraft, useDrafts } from '../drafts.js'
import { Editor, undoOf } from '../editor.js'
import { useAnswer } from '../live.js'
import { RecordForm } from '../record-form.js'
import { hrefOf, useSpot } from '../spot.js'
import { Act, Badge, confirmed, Empty, Head, html, Loaded, toast } from '../ui.js'
import { Choice, Desk } from './desk.js'

const nameRule = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/
const ruleWords = 'small letters, digits and dashes, at most 64'
/** Folders of other names are read, but not edited here. */
const editable = /^skills\/[A-Za-z0-9][A-Za-z0-9_-]{0,63}\/SKILL\.md$/
const fileOf = name => `skills/${name}/SKILL.md`
const folderOf = file => file.split('/')[1]
/** Goes there when it is done, but calls nobody back who has gone elsewhere meanwhile. */
const onward = () => {
  const { hash } = location
  return spot => {
    if (location.hash === hash) location.hash = hrefOf('skills', spot)
  }
}

export const Page = () => {
  const { skill: chosen } = useSpot('skills')
  const answer = useAnswer('/api/skills', { from: file => file === 'skills' || file.startsWith('skills/') })
  const drafts = useDrafts()
  const [making, setMaking] = useState(false)
  return html`
    <${Head} title="Skills" about="What the agent has learnt to do. It is told their names and reads one when it needs it.">
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
          ${all.length === 0 && html`<${Empty}>No skills yet. Make one: a few lines on how something is done.</${Empty}>`}
          ${
            all.length > 0 &&
            html`<${Desk} label="Skills" list=${list} chosen=${all.some(({ folder }) => folder === chosen) ? chosen : undefined} back=${hrefOf('skills', {})} backWords="All skills">
              <${Skill} key=${open.file} entry=${open} load=${answer.load} />
            </${Desk}>`
          }
          <${Offered} offered=${found.offered} load=${answer.load} />`
      }}
    </${Loaded}>
    ${making && html`<${NewSkill} taken=${answer.data?.skills ?? []} load=${answer.load} onClose=${() => setMaking(false)} />`}`
}

/** What is typed into one that is gone meanwhile must be found again. */
const gone = 'is not there any more. What you typed is kept: save it to make it again, or discard it'

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
    ${why !== null ? html`<${Badge} tone="bad">left out</${Badge}>` : html`<${Badge}>${from === 'shipped' ? 'came along' : 'yours'}</${Badge}>`}`
  return html`<${Choice} href=${hrefOf('skills', { skill: folder })} isOpen=${isOpen} title=${name} about=${description} marks=${marks} />`
}

const Skill = ({ entry, load }) => {
  const { file, folder, name = folder, from, why } = entry
  const drafts = useDrafts()
  const [mine, setMine] = useState(false)
  if (!editable.test(file))
    return html`<section class="editor card" aria-label=${name}><h2>${name}</h2><p>The name of its folder has signs that cannot be used here; edit ${file} by hand.</p></section>`
  const isLocked = from === 'shipped' && !mine && !drafts.has(file)
  const locked =
    isLocked &&
    html`<div class="row-note"><p class="grow quiet">It came with the gateway and is as it came. Once you change it, it is yours.</p>
      <button type="button" class="button small" onClick=${() => setMine(true)}>Make it mine</button></div>`
  const remove = base => async () => {
    const sure = await confirmed({
      title: `Remove “${name}”?`,
      text: `The agent does not know it any more. Only SKILL.md is removed; other files in skills/${folder} stay. It can be undone under Memory & persona, Changes.`,
      action: 'Remove',
    })
    if (!sure) return
    const go = onward()
    const { change } = await tell('/api/file', { name: file, text: null, version: base.version })
    keepDraft(file, null)
    toast(`“${name}” is removed.`, 'good', undoOf(change))
    go({})
    await load()
  }
  return html`
    <${Editor} name=${file} title=${name} about=${file} locked=${locked} onSaved=${load}
      acts=${({ base }) => base.version !== null && html`<${Act} class="button small quiet-danger" run=${remove(base)} aria-label=${`Remove ${name}`}>Remove</${Act}>`}>
      ${why !== null && html`<div class="notice" role="status"><span><strong>${file}</strong> ${why}</span></div>`}
    </${Editor}>`
}

const Offered = ({ offered, load }) => {
  if (offered.length === 0) return null
  const add =
    ({ name, text }) =>
    async () => {
      await tell('/api/file', { name: fileOf(name), text, version: null })
      await load()
    }
  return html`
    <section class="card" aria-label="Not in use"><div class="card-head"><h2>Not in use</h2></div>
      <ul class="rows">${offered.map(
        skill => html`
          <li key=${skill.name}><div class="row"><span class="grow"><span class="asked">${skill.name}</span><span class="under">${skill.description}</span></span>
            <${Act} class="button small" run=${add(skill)} done=${`“${skill.name}” is added.`} aria-label=${`Add ${skill.name}`}>Add</${Act}></div></li>`,
      )}</ul>
    </section>`
}

const newFields = [
  { name: 'name', label: 'Name', required: true, most: 64, hint: `${ruleWords}, such as weekly-report` },
  {
    name: 'description',
    label: 'What it does, and when to use it',
    kind: 'long',
    required: true,
    most: 1000,
    hint: 'The agent sees this line and decides by it.',
  },
]

const NewSkill = ({ taken, load, onClose }) => {
  const add = async typed => {
    const name = typed.name.trim()
    const description = typed.description.replace(/\s+/g, ' ').trim()
    if (!nameRule.test(name)) throw new Error(`The name must be made of ${ruleWords}.`)
    if (description === '') throw new Error('Say in a line what it does and when to use it.')
    const isTaken = new Error(`There is a skill called ${name} already.`)
    if (taken.some(skill => skill.name === name)) throw isTaken
    const go = onward()
    try {
      await tell('/api/file', { name: fileOf(name), text: template(name, description), version: null })
    } catch (problem) {
      throw problem.status === 409 ? isTaken : problem
    }
    await load()
    go({ skill: name })
  }
  return html`<${RecordForm} title="New skill" what="skill" add="Make it" fields=${newFields} records=${{ path: '/api/skills', add }} item=${null} onClose=${onClose} />`
}

/** What is more than a plain line is quoted; JSON is YAML. */
const template = (name, description) => {
  const line = /^[A-Za-z][^:#"'\\]*$/.test(description) ? description : JSON.stringify(description)
  const title = name.replaceAll('-', ' ').replace(/^./, letter => letter.toUpperCase())
  return `---\nname: ${name}\ndescription: ${line}\n---\n\n# ${title}\n\n1. First, …\n`
}
