// Every option: its value, its source, and a way to change it. Changes are written to bot-config.json.
import { useEffect, useRef, useState } from 'preact/hooks'
import { sendJson } from '../api.js'
import { plural } from '../format.js'
import { useResource } from '../live.js'
import { useStored } from '../storage.js'
import { Badge, Card, Empty, Head, html, Loaded, toast } from '../ui.js'
import { Logins } from './logins.js'

const before = [
  ['Agent', ['agent.', 'anthropic.']],
  ['Models', ['models.']],
  ['Tools', ['allowed_tools', 'permission_mode', 'mcp.']],
  ['Turns and queue', ['query.', 'queue.']],
  ['Access', ['owner.', 'gate.', 'guest.']],
]
const after = [
  ['Jobs and notifications', ['heartbeat.']],
  ['Budget', ['budget.']],
  ['Web server', ['http.']],
  ['Log', ['log.']],
  ['General', ['']],
]
/** Groups by the prefix of the key; the last one has the rest. A section with a bot token is a chat, and a group of its own. */
const groupsIn = values => {
  const chats = values.filter(({ key }) => key.endsWith('.bot_token')).map(({ key }) => key.split('.')[0])
  return [...before, ...chats.map(name => [name[0].toUpperCase() + name.slice(1), [`${name}.`]]), ...after]
}
const groupOf = (groups, key) =>
  groups.find(([, beginnings]) => beginnings.some(beginning => key.startsWith(beginning)))[0]

export const Page = () => {
  const answer = useResource('/api/settings', {
    refreshOnFile: file => file === 'bot-config.json' || file === 'config.json',
  })
  /** Unsaved changes, by key. Null or empty: to be reset. */
  const [drafts, change] = useStored('/api/settings', {})
  const [problems, setProblems] = useState({})
  const [words, setWords] = useState('')
  const [busy, setBusy] = useState(false)
  const form = useRef(null)

  const draft = (row, value) => {
    const { [row.key]: before, ...others } = drafts
    setProblems(({ [row.key]: _, ...rest }) => rest)
    const same = value === null ? !row.here : JSON.stringify(value) === JSON.stringify(row.value ?? '')
    change(same ? others : { ...others, [row.key]: { value, was: before?.was ?? row.value } })
  }
  const save = async () => {
    if (busy) return
    setBusy(true)
    try {
      const set = Object.fromEntries(
        Object.entries(drafts).map(([key, { value }]) => [key, value === '' ? null : value]),
      )
      const { applied, later, values } = await sendJson('/api/settings', { set })
      answer.change({ values, trouble: null })
      // Changes made during the request are still unsaved.
      change(kept => Object.fromEntries(Object.entries(kept).filter(([key, one]) => drafts[key] !== one)))
      setProblems({})
      toast(savedWords(applied, later))
    } catch (trouble) {
      const byKey = Object.fromEntries((trouble.answer?.problems ?? []).map(({ key, why }) => [key, why]))
      setProblems(Object.keys(byKey).length > 0 ? byKey : { '': trouble.message })
    }
    setBusy(false)
  }
  useEffect(() => {
    const field = form.current?.querySelector('[aria-invalid="true"]')
    field?.focus({ preventScroll: true })
    field?.scrollIntoView({ block: 'center' }) // not behind the save bar
  }, [problems])

  const wanted = words.trim().toLowerCase()
  const fits = ({ key, env, description }) => `${key} ${env} ${description}`.toLowerCase().includes(wanted)
  const changed = Object.keys(drafts)
  return html`
    <${Head} title="Settings" about="Changes are saved to bot-config.json, which overrides config.json." />
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="field-label grow"><span class="unseen">Search settings</span>
        <input class="input" type="search" placeholder="Search settings" value=${words} onInput=${event => setWords(event.target.value)} /></label>
    </form>
    <${Loaded} answer=${answer} rows=${8}>
      ${({ values, trouble }) => {
        const shown = values.filter(fits)
        const groups = groupsIn(values)
        const byGroup = Map.groupBy(shown, ({ key }) => groupOf(groups, key))
        const waits = values.filter(row => row.waits).map(({ key }) => key)
        return html`
          ${wanted === '' && html`<${Jump} titles=${groups.map(([title]) => title).filter(title => byGroup.has(title))} />`}
          ${trouble && html`<div class="notice"><span>The configuration files have errors. The last valid values are shown:<span class="lines">${trouble}</span></span></div>`}
          ${waits.length > 0 && html`<p class="hint-row"><${Badge} tone="busy">restart needed</${Badge}> <span>${waits.join(', ')}</span></p>`}
          ${shown.length === 0 && html`<${Empty}>No settings match the search.</${Empty}>`}
          <div class="cards" ref=${form}>${groups.map(
            ([title]) =>
              byGroup.has(title) &&
              html`<${Card} key=${title} title=${title} class="settings">${byGroup
                .get(title)
                .map(
                  row =>
                    html`<${Row} key=${row.key} row=${row} edited=${drafts[row.key]} problem=${problems[row.key]} onDraft=${draft} />`,
                )}</${Card}>`,
          )}</div>
          ${
            changed.length > 0 &&
            html`<${Bar} changed=${changed} values=${values} problems=${problems} busy=${busy} save=${save} discard=${() => {
              change({})
              setProblems({})
            }} />`
          }`
      }}
    </${Loaded}>
    <${Logins} />`
}

const Jump = ({ titles }) => {
  const go = title => {
    const card = document.querySelector(`.settings[aria-label="${title}"]`)
    card.scrollIntoView()
    card.querySelector('input, select, textarea, .fixed')?.focus({ preventScroll: true })
  }
  return html`<nav class="jump" aria-label="Setting groups">${titles.map(
    title => html`<button key=${title} type="button" class="button small" onClick=${() => go(title)}>${title}</button>`,
  )}</nav>`
}

const savedWords = (applied, later) => {
  const now = applied.length > 0 ? [`In effect now: ${applied.join(', ')}.`] : []
  const then = later.length > 0 ? [`After a restart: ${later.join(', ')}.`] : []
  return ['Saved.', ...now, ...then].join(' ')
}

/** The label of an option: `agent.max_turns` is “Max turns”. */
const nameOf = key => {
  const last = key.slice(key.lastIndexOf('.') + 1).replaceAll('_', ' ')
  const name = last.replace(/\b(mb|usd|cli|api|sdk|url|mcp|http)\b/g, word => word.toUpperCase())
  return name[0].toUpperCase() + name.slice(1)
}

const Row = ({ row, edited, problem, onDraft }) => {
  const { key, env, description, locked, live, waits, here, from, secret } = row
  const id = `set-${key.replaceAll('.', '-')}`
  const setBack = edited?.value === null || edited?.value === ''
  const value = edited ? edited.value : row.value
  const elsewhere = edited && JSON.stringify(edited.was) !== JSON.stringify(row.value)
  return html`
    <div class="setting ${edited ? 'is-edited' : ''}">
      <div class="about">
        <label class="name" for=${id} id=${`${id}-name`}>${nameOf(key)}</label> <code class="quiet">${key}</code>
        <p class="quiet" id=${`${id}-about`}>${description}</p>
      </div>
      <div class="value-side">
        ${
          locked !== null
            ? html`<${Fixed} id=${id} row=${row} />`
            : html`<${Control} id=${id} row=${row} value=${edited?.value === null ? row.default : value} invalid=${problem !== undefined} onDraft=${onDraft} />`
        }
        ${problem && html`<p class="problem" id=${`${id}-problem`}>${sentence(problem)}</p>`}
        ${elsewhere && html`<p class="under">Changed elsewhere to ${inWords(row.value)}.</p>`}
        <p class="under notes">
          ${edited ? html`<${Badge} tone="busy">${setBack ? 'will be reset' : 'unsaved'}</${Badge}>` : (secret || locked === null) && html`<${Origin} from=${from} env=${env} />`}
          ${!secret && locked === null && html`<span>${waits ? 'restart needed' : live ? 'takes effect immediately' : 'takes effect after a restart'}</span>`}
          ${
            edited
              ? html`<button type="button" class="link-button" aria-label=${`Undo change to ${key}`} onClick=${() => onDraft(row, here ? row.value : null)}>Undo</button>`
              : here &&
                html`<button type="button" class="link-button" aria-label=${`Reset ${key}`} onClick=${() => onDraft(row, null)}>Reset</button>`
          }
        </p>
      </div>
    </div>`
}

/** An option that cannot be changed here, with the reason. */
const Fixed = ({ id, row }) => html`
  <p class="fixed" id=${id} tabindex="-1"><span dir="auto">${row.secret ? (row.value === null ? 'not set' : 'set') : inWords(row.value)}</span></p>
  <p class="under" id=${`${id}-lock`}>${row.locked}</p>`

const Origin = ({ from, env }) => {
  if (from === 'default') return html`<${Badge}>default</${Badge}>`
  if (from === 'bot-config.json') return html`<${Badge} tone="good">set here</${Badge}>`
  return html`<${Badge}>${from === 'flag' ? 'flag' : from === 'config.json' ? from : `${env} in ${from === '.env' ? from : 'the environment'}`}</${Badge}>`
}

const Control = ({ id, row, value, invalid, onDraft }) => {
  const { kind, choices = [], default: usual } = row
  const common = {
    id,
    'aria-invalid': invalid ? 'true' : undefined,
    'aria-describedby': `${id}-about${invalid ? ` ${id}-problem` : ''}`,
    class: 'input',
  }
  switch (kind) {
    case 'yes-or-no':
      return html`<span class="switch"><input type="checkbox" ...${common} class="check" checked=${value === true} onChange=${event => onDraft(row, event.target.checked)} />
        <span aria-hidden="true">${value === true ? 'on' : 'off'}</span></span>`
    case 'choice':
      return html`<select ...${common} value=${value ?? ''} onChange=${event => onDraft(row, event.target.value === '' ? null : event.target.value)}>
        ${usual === null && html`<option value="">not set</option>`}
        ${choices.map(word => html`<option key=${word} value=${word}>${word}</option>`)}
      </select>`
    case 'list':
      return html`<${List} common=${common} value=${value ?? []} onList=${list => onDraft(row, list)} />`
    default:
      return html`<input ...${common} type="text" dir="auto" autocomplete="off" spellcheck="false" inputmode=${kind === 'number' ? 'decimal' : undefined}
        placeholder=${usual === null || usual === '' ? 'not set' : String(usual)} value=${value ?? ''}
        onInput=${event => onDraft(row, typed(event.target.value, kind))} />`
  }
}

/** One item per line. The text stays as typed, with its empty lines. */
const List = ({ common, value, onList }) => {
  const [text, setText] = useState(null)
  const lines = list =>
    list
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '')
  const shown = text !== null && JSON.stringify(lines(text)) === JSON.stringify(value) ? text : value.join('\n')
  return html`<textarea ...${common} dir="auto" spellcheck="false" placeholder="none; one per line" rows=${Math.min(10, Math.max(2, shown.split('\n').length))} value=${shown}
    onInput=${event => {
      setText(event.target.value)
      onList(lines(event.target.value))
    }}></textarea>`
}

const typed = (text, kind) => {
  // An empty field stays empty while it is edited; saving resets the option.
  if (text.trim() === '') return ''
  return kind === 'number' && /^\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : text
}

const inWords = value => {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return 'not set'
  return Array.isArray(value) ? value.join(', ') : value === true ? 'on' : value === false ? 'off' : String(value)
}

const sentence = why => {
  const whole = why.endsWith('.') ? why : `${why}.`
  return whole[0].toUpperCase() + whole.slice(1)
}

/** The bar at the bottom while there are unsaved changes. */
const Bar = ({ changed, values, problems, busy, save, discard }) => {
  const others = Object.entries(problems).filter(([key]) => !changed.includes(key))
  const restart = values.some(({ key, live }) => changed.includes(key) && !live)
  return html`
    <section class="save-bar" aria-label="Unsaved changes">
      ${others.length > 0 && html`<div class="notice" role="alert"><span>${others.map(([key, why]) => html`<span class="line" key=${key}>${key && `${key}: `}${why}</span>`)}</span></div>`}
      <div class="acts">
        <p class="grow"><strong>${plural(changed.length, 'change')}</strong> <span class="quiet">${changed.join(', ')}${restart && ' · some need a restart'}</span></p>
        <button type="button" class="button" onClick=${discard}>Discard</button>
        <button type="button" class="button primary" aria-disabled=${busy ? 'true' : undefined} onClick=${save}>Save</button>
      </div>
      <p class="unseen" role="status">${Object.keys(problems).length > 0 ? 'Not saved. Some values are not valid.' : ''}</p>
    </section>`
}
