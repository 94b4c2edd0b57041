// The ways to answer a request: allow or deny a tool, answer questions, approve a plan.
import { el } from './dom.js'
import { scopes } from './request-words.js'

/**
 * @param {import('./request-words.js').Request} request
 * @param {(decision: object) => void} decide
 */
export const formOf = (request, decide) => {
  if (request.ask.kind === 'question') return questionForm(request, decide)
  if (request.ask.kind === 'plan') return planForm(request, decide)
  return toolForm(request, decide)
}

let made = 0
const uniqueId = () => {
  made += 1
  return `ask-${made}`
}
const button = (label, click, kind = '') => el('button', { type: 'button', class: `button ${kind}`, click }, label)

const toolForm = (request, decide) => {
  const always = request.rule === null ? null : alwaysPanel(request.rule, decide)
  const reason = wordsPanel('Why not? The agent gets these words.', 'Deny with this reason', 'danger', message =>
    decide({ allow: false, message }),
  )
  const allow = button('Allow once', () => decide({ allow: true }), 'primary')
  const deny = button('Deny', () => decide({ allow: false, message: '' }), 'quiet-danger')
  return withPanels([
    allow,
    ...(always === null ? [] : [{ label: 'Allow always …', panel: always }]),
    deny,
    { label: 'Deny with a reason …', panel: reason },
  ])
}

const planForm = (_request, decide) =>
  withPanels([
    button('Approve', () => decide({ allow: true }), 'primary'),
    {
      label: 'Keep planning …',
      panel: wordsPanel('What should be different? The agent gets these words.', 'Keep planning', '', message =>
        decide({ allow: false, message }),
      ),
    },
  ])

/** Buttons side by side; some open a panel below, one at a time. */
const withPanels = parts => {
  const panels = []
  const row = el('div', { class: 'ask-buttons' })
  const open = chosen => {
    for (const { toggle, panel } of panels) {
      const isOpen = panel === chosen && panel.hidden
      panel.hidden = !isOpen
      toggle.setAttribute('aria-expanded', String(isOpen))
      if (isOpen) panel.querySelector('input, textarea')?.focus()
    }
  }
  for (const part of parts) {
    if (part instanceof Node) {
      row.append(part)
      continue
    }
    const { label, panel } = part
    panel.id = uniqueId()
    panel.hidden = true
    const toggle = button(label, () => open(panel))
    toggle.setAttribute('aria-expanded', 'false')
    toggle.setAttribute('aria-controls', panel.id)
    panel.addEventListener('keydown', event => {
      if (event.key !== 'Escape') return
      event.preventDefault() // otherwise Escape would also stop the answer
      open(null)
      toggle.focus()
    })
    panels.push({ toggle, panel })
    row.append(toggle)
  }
  return el('div', { class: 'ask-form' }, row, ...panels.map(({ panel }) => panel))
}

const alwaysPanel = (rule, decide) => {
  const name = uniqueId()
  const choices = Object.entries(scopes).map(([scope, label], place) =>
    el('label', {}, el('input', { type: 'radio', name, value: scope, checked: place === 0 }), label),
  )
  const panel = el(
    'form',
    { class: 'ask-panel' },
    el('p', {}, 'Adds this rule to permissions.json, and allows what matches it from now on:'),
    el('code', { class: 'ask-rule', dir: 'ltr' }, rule),
    el('fieldset', {}, el('legend', {}, 'Where'), ...choices),
    el('button', { type: 'submit', class: 'button primary' }, 'Allow always'),
  )
  panel.addEventListener('submit', event => {
    event.preventDefault()
    decide({ allow: true, always: panel.querySelector('input:checked').value })
  })
  return panel
}

const wordsPanel = (label, action, kind, done) => {
  const id = uniqueId()
  const box = el('textarea', { id, rows: '2', dir: 'auto', maxlength: '4000' })
  const panel = el(
    'form',
    { class: 'ask-panel' },
    el('label', { for: id }, label),
    box,
    el('button', { type: 'submit', class: `button ${kind}` }, action),
  )
  submitOnEnter(box, panel)
  panel.addEventListener('submit', event => {
    event.preventDefault()
    done(box.value.trim())
  })
  return panel
}

const submitOnEnter = (box, form) =>
  box.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    form.requestSubmit()
  })

/** One question with one answer: an option is the answer. Otherwise options are chosen, and everything is sent together. */
const questionForm = ({ ask }, decide) => {
  const isDirect = ask.questions.length === 1 && !ask.questions[0].multiple && ask.questions[0].options.length > 0
  const note = el('p', { class: 'ask-error', role: 'alert', hidden: true })
  const form = el('form', { class: 'ask-form' })
  const fields = ask.questions.map(question => questionField(question, isDirect ? label => send([label]) : null, form))
  const send = given => {
    const open = given.indexOf('')
    note.hidden = open < 0
    note.textContent = 'Choose an option, or write an answer.'
    if (open >= 0) return fields[open].focus()
    decide({ allow: true, answers: Object.fromEntries(ask.questions.map(({ question }, i) => [question, given[i]])) })
  }
  form.addEventListener('submit', event => {
    event.preventDefault()
    send(fields.map(({ answer }) => answer()))
  })
  form.append(
    ...fields.map(({ element }) => element),
    note,
    el(
      'div',
      { class: 'ask-buttons' },
      el(
        'button',
        { type: 'submit', class: isDirect ? 'button' : 'button primary' },
        isDirect ? 'Send my own answer' : 'Send answer',
      ),
      button('Do not answer', () => decide({ allow: false, message: 'The question is not answered.' }), 'quiet-danger'),
    ),
  )
  return form
}

const questionField = ({ question, header, multiple, options }, direct, form) => {
  const id = uniqueId()
  const chosen = new Set()
  const buttons = options.map(({ label, description }) => {
    const option = el(
      'button',
      { type: 'button', class: 'button ask-option', ...(direct ? {} : { 'aria-pressed': 'false' }) },
      el('span', { dir: 'auto' }, label),
      ...(description === '' ? [] : [el('small', { dir: 'auto' }, description)]),
    )
    option.addEventListener('click', () => (direct ? direct(label) : choose(label)))
    return { option, label }
  })
  const choose = label => {
    const had = chosen.has(label)
    if (!multiple) chosen.clear()
    if (had) chosen.delete(label)
    else chosen.add(label)
    for (const one of buttons) one.option.setAttribute('aria-pressed', String(chosen.has(one.label)))
  }
  const box = el('textarea', { id, rows: '1', dir: 'auto', maxlength: '4000' })
  submitOnEnter(box, form)
  const element = el(
    'fieldset',
    { class: 'ask-question' },
    el('legend', { dir: 'auto' }, ...(header === '' ? [] : [el('small', {}, header)]), question),
    ...(options.length === 0 ? [] : [el('div', { class: 'ask-options' }, ...buttons.map(({ option }) => option))]),
    el(
      'label',
      { for: id },
      options.length === 0 ? 'Your answer' : multiple ? 'Other, or in addition' : 'Or in your own words',
    ),
    box,
  )
  return {
    element,
    focus: () => (buttons[0]?.option ?? box).focus(),
    answer() {
      const own = box.value.trim()
      const picked = options.map(({ label }) => label).filter(label => chosen.has(label))
      // Own words replace a single choice.
      return (multiple ? [...picked, ...(own === '' ? [] : [own])] : own === '' ? picked : [own]).join(', ')
    },
  }
}
