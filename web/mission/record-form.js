// A form for one record. Input is never lost: not by Escape, not by an error, not by someone else’s edit at the same time.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { readStored, writeStored } from './storage.js'
import { Dialog, html, toast } from './ui.js'

/** @typedef {{ name: string, label: string, kind?: 'line' | 'long' | 'tags' | 'choice' | 'day', most?: number, required?: boolean, hint?: string, choices?: [string, string][], known?: string[], seldom?: boolean }} Field `seldom`: under “More” */

const asText = (field, value) => (field.kind === 'tags' ? (value ?? []).join(', ') : (value ?? ''))
const fromText = (field, text) =>
  field.kind === 'tags' ? [...new Set(text.split(',').map(tag => tag.trim()))].filter(Boolean) : text
const isEmpty = text => text.trim() === ''

/**
 * @param {{ title: string, fields: Field[], records: any, item: any, start?: object, what: string, add?: string, onClose: () => void, children?: any }} props
 * `item` is the record to edit, or null for a new one, which starts as `start`; then `records` needs only its path and `add`
 */
export const RecordForm = ({ title, fields, records, item, start = {}, what, add = 'Add', onClose, children }) => {
  const key = `${records.path}:${item?.id ?? 'new'}`
  const [draft] = useState(() => readStored(key))
  const [values, setValues] = useState(() => draft?.values ?? textsOf(fields, item ?? start))
  // The record as the owner last saw it: only the differences are sent.
  const [base, setBase] = useState(() => draft?.base ?? item ?? start)
  const [theirs, setTheirs] = useState({})
  const [gone, setGone] = useState(false)
  const [trouble, setTrouble] = useState(null)
  const busy = useRef(false)
  const here = useRef(true)
  useLayoutEffect(
    () => () => {
      here.current = false
    },
    [],
  )
  const place = useRef(null)
  /** The current state, for callbacks created earlier. */
  const now = useRef(null)
  now.current = { values, base }

  const touched = fields.filter(field => values[field.name] !== asText(field, base[field.name]))
  // Before the paint: Escape may be faster.
  useLayoutEffect(() => writeStored(key, touched.length > 0 ? { values, base } : null), [values, base])

  /** The record has changed: untouched fields are updated; for the others the owner decides. */
  const onRecordChange = record => {
    const { values, base } = now.current
    const [nextValues, nextBase, nextTheirs] = [{ ...values }, { ...base }, {}]
    for (const field of fields) {
      const { name } = field
      const [mine, was, is] = [values[name], asText(field, base[name]), asText(field, record[name])]
      if (is !== was && mine !== was && mine !== is) nextTheirs[name] = record[name]
      else {
        nextBase[name] = record[name]
        if (mine === was) nextValues[name] = is
      }
    }
    setValues(nextValues)
    setBase(nextBase)
    setTheirs(nextTheirs)
    return Object.keys(nextTheirs).length > 0
  }
  const current = item && records.items.find(({ id }) => id === item.id)
  useLayoutEffect(() => {
    if (item === null || busy.current || records.answer.data === null) return
    setGone(current === undefined)
    if (current !== undefined) onRecordChange(current)
  }, [current])

  const save = async () => {
    const all = Object.fromEntries(fields.map(field => [field.name, fromText(field, values[field.name])]))
    if (item === null || gone) return records.add({ ...start, ...all })
    if (touched.length === 0) return undefined
    const names = touched.map(({ name }) => name)
    const only = from => Object.fromEntries(names.map(name => [name, from[name]]))
    return records.change(item.id, only(all), only(base))
  }
  const submit = async event => {
    event.preventDefault()
    if (busy.current) return
    if (Object.keys(theirs).length > 0) return place.current.querySelector('.clash button')?.focus()
    busy.current = true
    setTrouble(null)
    try {
      await save()
      toast(item === null || gone ? 'Added.' : 'Saved.')
      // The form may have been closed and opened again, with newer input.
      if (here.current || JSON.stringify(readStored(key)?.values) === JSON.stringify(values)) writeStored(key, null)
      if (here.current) onClose()
    } catch (problem) {
      if (problem.status === 409 && problem.answer?.item) {
        if (!onRecordChange(problem.answer.item)) setTrouble(problem)
      } else if (problem.status === 404 && item !== null) setGone(true)
      else setTrouble(problem)
      if (!here.current) toast(problem.message, 'bad')
    } finally {
      busy.current = false
    }
  }
  const decide = (field, mine) => {
    const { [field.name]: value, ...others } = theirs
    setBase({ ...base, [field.name]: value })
    if (!mine) setValues({ ...values, [field.name]: asText(field, value) })
    setTheirs(others)
    place.current.querySelector(`[name="${field.name}"]`)?.focus()
  }
  const startOver = () => {
    setValues(textsOf(fields, current ?? item ?? start))
    setBase(current ?? item ?? start)
    setTheirs({})
    place.current.querySelector('[name]')?.focus()
  }
  const cancel = () => {
    writeStored(key, null)
    onClose()
  }
  const action = gone ? 'Add again' : item === null ? add : 'Save'
  const drawn = field => html`
    <${Field} key=${field.name} field=${field} value=${values[field.name]} set=${text => setValues({ ...values, [field.name]: text })} />
    ${field.name in theirs && html`<${Clash} field=${field} theirs=${theirs[field.name]} decide=${mine => decide(field, mine)} />`}`
  const seldom = fields.filter(field => field.seldom)
  // Decided once: it must not collapse while a field in it is being cleared.
  const [unfolded] = useState(() => seldom.some(field => touched.includes(field)))
  return html`
    <${Dialog} label=${title} class="form-dialog" onClose=${onClose}>
      <form class="form" onSubmit=${submit} ref=${place}>
        <h2>${title}</h2>
        ${draft && touched.length > 0 && html`<p class="kept quiet">Your unsaved changes from last time were restored. <button type="button" class="link-button" onClick=${startOver}>Start over</button></p>`}
        ${gone && html`<div class="notice" role="alert"><span>This ${what} was deleted in the meantime. Your changes are still here.</span></div>`}
        ${fields.filter(field => !field.seldom).map(drawn)}
        ${
          seldom.length > 0 &&
          html`<details class="more-text" open=${unfolded}><summary>More</summary><div class="form">${seldom.map(drawn)}</div></details>`
        }
        ${trouble && html`<div class="notice" role="alert">${trouble.message}</div>`}
        <div class="acts end">
          ${children}
          <button type="button" class="button" onClick=${cancel}>Cancel</button>
          <button type="submit" class="button primary">${action}</button>
        </div>
      </form>
    </${Dialog}>`
}

const textsOf = (fields, from) => Object.fromEntries(fields.map(field => [field.name, asText(field, from[field.name])]))

const Field = ({ field, value, set }) => {
  const { name, label, kind = 'line', most, required, hint, choices = [], known = [] } = field
  const common = {
    ...{ class: 'input', name, value, onInput: event => set(event.target.value) },
    ...(hint && { 'aria-describedby': `hint-${name}` }),
  }
  return html`
    <div class="field-label">
      <label for=${`field-${name}`}>${label}</label>
      ${kind === 'long' && html`<textarea id=${`field-${name}`} ...${common} rows="4" dir="auto" maxlength=${most} required=${required}></textarea>`}
      ${kind === 'choice' && html`<select id=${`field-${name}`} ...${common}>${choices.map(([one, words]) => html`<option key=${one} value=${one}>${words}</option>`)}</select>`}
      ${kind === 'day' && html`<input id=${`field-${name}`} type="date" ...${common} />`}
      ${
        (kind === 'line' || kind === 'tags') &&
        html`<input id=${`field-${name}`} ...${common} autocomplete="off" dir="auto" maxlength=${most} required=${required} list=${known.length > 0 ? `known-${name}` : undefined} />
        ${known.length > 0 && html`<datalist id=${`known-${name}`}>${known.map(one => html`<option key=${one} value=${one}></option>`)}</datalist>`}`
      }
      ${hint && html`<span class="quiet" id=${`hint-${name}`}>${hint}</span>`}
    </div>`
}

const Clash = ({ field, theirs, decide }) => {
  const text = asText(field, theirs)
  const words = field.choices?.find(([one]) => one === text)?.[1] ?? text
  return html`
    <div class="clash" role="alert">
      <p>Someone else has changed ${field.label} to:</p>
      <blockquote dir="auto">${isEmpty(words) ? '(empty)' : words}</blockquote>
      <div class="acts">
        <button type="button" class="button small" onClick=${() => decide(true)}>Keep mine</button>
        <button type="button" class="button small" onClick=${() => decide(false)}>Use theirs</button>
      </div>
    </div>`
}
