// The editor of the agent's files: what is typed is kept, what would change is shown, and nobody's change is overwritten unseen.
import { useEffect, useRef, useState } from 'preact/hooks'
import { sizeOf } from '../chat/files.js'
import { ask, tell } from './api.js'
import { merged, unified } from './diff.js'
import { draftOf, followDraft, isChanged, keepDraft, met, standing, toSave } from './drafts.js'
import { followLine, useFiles } from './live.js'
import { Card, html, Notice, Skeleton, toast } from './ui.js'
import { exactTime, plural } from './words.js'

const mostBytes = 1024 * 1024
const encoder = new TextEncoder()

/**
 * @param {{
 *   name: string,
 *   title?: string,
 *   about?: any,
 *   room?: number | null,      how much of it the agent is given
 *   onSaved?: () => void,
 *   acts?: (file: { base: object, changed: boolean }) => any,
 *   locked?: any,      it is only to be read, and this is said about it
 *   children?: any,      what the gateway makes of it
 * }} props
 */
export const Editor = ({ name, title = name, about, room = null, onSaved, acts, locked, children }) => {
  const [reviewing, setReviewing] = useState(false)
  const file = useFile(name, () => {
    setReviewing(false)
    onSaved?.()
  })
  const { draft, trouble, busy, came } = file
  const conflict = useRef(null)
  const changed = draft !== null && isChanged(draft)
  const bytes = draft === null ? 0 : encoder.encode(draft.mine).length

  const save = () => {
    if (draft === null || locked || busy) return
    if (draft.theirs !== null) return conflict.current?.focus()
    if (bytes > mostBytes) return toast(`The text is longer than ${sizeOf(mostBytes)}.`, 'bad')
    if (changed) file.save()
    else toast('There is nothing to save.')
  }
  const latest = useRef(save)
  latest.current = save
  useEffect(() => {
    const keys = event => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 's') return
      event.preventDefault()
      latest.current()
    }
    document.addEventListener('keydown', keys)
    return () => document.removeEventListener('keydown', keys)
  }, [])
  if (draft === null)
    return trouble === null
      ? html`<${Skeleton} rows=${4} />`
      : html`<h2>${title}</h2><${Notice} trouble=${trouble} retry=${file.look} />`
  return html`
    <section class="editor card" aria-label=${title}>
      <div class="editor-head">
        <div class="grow"><h2 tabindex="-1">${title}${changed && html` <span class="unsaved">unsaved</span>`}</h2>${about && html`<p class="under">${about}</p>`}</div>
        ${acts?.({ base: draft.base, changed })}
      </div>
      ${draft.theirs !== null && html`<${Conflict} name=${title} draft=${draft} decide=${file.change} focus=${conflict} />`}
      ${children}
      ${locked}
      ${
        reviewing
          ? html`<${Review} draft=${draft} />`
          : html`<textarea class="input editor-text" aria-label=${`Text of ${title}`} spellcheck="false" autocapitalize="off" autocomplete="off"
            readonly=${Boolean(locked)} value=${draft.mine} onInput=${event => file.type(event.target.value)}></textarea>`
      }
      <div class="editor-foot">
        <p class="grow quiet"><${Size} bytes=${bytes} room=${room} />${draft.base.version === null ? ' · not there yet: saving makes it' : ''}
          <span role="status">${came === null ? '' : ` · changed at ${exactTime(came)}, and shown as it is now`}</span></p>
        ${
          !locked &&
          html`<div class="acts">
            ${changed && html`<button type="button" class="button small" onClick=${file.discard}>Discard</button>`}
            <button type="button" class="button" aria-pressed=${reviewing ? 'true' : 'false'} onClick=${() => setReviewing(!reviewing)}>Review</button>
            <button type="button" class="button ${changed && draft.theirs === null ? 'primary' : ''}" aria-keyshortcuts="Control+S" title="Ctrl+S" aria-disabled=${busy ? 'true' : undefined} onClick=${save}>Save</button>
          </div>`
        }
      </div>
      ${trouble !== null && html`<${Notice} trouble=${trouble} />`}
    </section>`
}

/** One file: what stands in it, what is typed, and what becomes of both. */
const useFile = (name, onSaved) => {
  const [draft, setDraft] = useState(() => draftOf(name))
  const [state, setState] = useState({ trouble: null, busy: false, came: null })
  // What is on its way decides by what is there when it comes back.
  const now = useRef({ draft, run: 0, saving: false, again: false })
  const change = next => {
    now.current.draft = next
    keepDraft(name, next)
    setDraft(next)
  }
  const say = more => setState(before => ({ ...before, ...more }))

  const meet = found => {
    const before = now.current.draft
    const next = met(before, standing(found))
    if (before !== null && next.base.version !== before.base.version && next.mine !== before.mine)
      say({ came: Date.now() })
    change(next)
  }
  const look = async () => {
    // In the middle of a save it would be taken for somebody else's.
    if (now.current.saving) {
      now.current.again = true
      return
    }
    now.current.run += 1
    const run = now.current.run
    try {
      const found = await ask(`/api/file?name=${encodeURIComponent(name)}`)
      if (run !== now.current.run) return
      say({ trouble: null })
      meet(found)
    } catch (trouble) {
      // A line that is lost has a banner of its own.
      if (run === now.current.run && (trouble.status !== 0 || now.current.draft === null)) say({ trouble })
    }
  }
  const save = async () => {
    const sent = now.current.draft
    now.current.run += 1 // what is on its way was there before
    now.current.saving = true
    say({ busy: true, trouble: null, came: null })
    try {
      const { version, change: made } = await tell('/api/file', {
        name,
        text: toSave(sent),
        version: sent.base.version,
      })
      const { mine } = draftOf(name) ?? now.current.draft // the file may be open in another editor by now
      change({ base: { ...sent.base, text: sent.mine, version }, mine, theirs: null })
      toast(`${name} is saved.`, 'good', undoOf(made))
      onSaved()
    } catch (trouble) {
      if (trouble.status === 409 && typeof trouble.answer?.text === 'string') meet(trouble.answer)
      else say({ trouble })
    }
    now.current.saving = false
    say({ busy: false })
    if (now.current.again) {
      now.current.again = false
      look()
    }
  }
  const discard = () => {
    const before = now.current.draft
    change({ ...before, mine: before.base.text, theirs: null })
    toast('What you typed is put away.', 'good', {
      label: 'Bring it back',
      run: () => change(met(before, now.current.draft.base)),
    })
    look()
  }

  useEffect(() => {
    look()
    const unfollow = followLine(({ again }) => again && look())
    const unfollowDraft = followDraft(name, next => {
      if (next === null || next === now.current.draft) return
      now.current.draft = next
      setDraft(next)
    })
    return () => {
      now.current.run += 1
      unfollow()
      unfollowDraft()
    }
  }, [])
  const folder = name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : name
  useFiles(files => files.some(file => file === name || file === folder) && look())

  const type = mine => {
    if (state.came !== null) say({ came: null })
    change({ ...now.current.draft, mine })
  }
  return { draft, ...state, look, save, discard, change, type }
}

/** Of a change that was too large its texts are not kept. */
export const undoOf = change =>
  change === null || change.diff.startsWith('(too large')
    ? undefined
    : {
        label: 'Undo',
        run: async () => {
          await tell('/api/memory', { undo: change.id })
          toast('Undone.')
        },
      }

const Conflict = ({ name, draft, decide, focus }) => {
  const { base, mine, theirs } = draft
  const both = theirs.version === null ? null : merged(base.text, mine, theirs.text)
  const take = () => {
    decide({ base: theirs, mine: theirs.text, theirs: null })
    toast('What stands on the disk is taken.', 'good', {
      label: 'Bring mine back',
      run: () => decide({ base: theirs, mine, theirs: null }),
    })
  }
  return html`
    <${Card} class="conflict">
      <div role="alert"><h3 tabindex="-1" ref=${focus}>${name} was ${theirs.version === null ? 'removed' : 'changed'} meanwhile, by the agent or elsewhere.</h3>
        <p class="quiet">Nothing of yours is lost. ${both === null ? 'Both have changed the same lines: choose one, and look at it again before you save.' : 'The two fit together.'}</p></div>
      <${Diff} diff=${unified(base.text, theirs.text)} open=${true} label="What changed there" />
      <div class="acts">
        ${both !== null && html`<button type="button" class="button primary" onClick=${() => decide({ base: theirs, mine: both, theirs: null })}>Merge both</button>`}
        <button type="button" class="button" onClick=${() => decide({ base: theirs, mine, theirs: null })}>Keep mine</button>
        <button type="button" class="button" onClick=${take}>Take theirs</button>
      </div>
    </${Card}>`
}

const Review = ({ draft }) => html`
  <div class="review">${
    isChanged(draft)
      ? html`<${Diff} diff=${unified(draft.base.text, draft.mine)} open=${true} label="What you would change" />`
      : html`<p class="empty">Nothing is changed.</p>`
  }</div>`

/** A unified diff, folded unless `open`. */
export const Diff = ({ diff, open, label }) => {
  const lines = diff.replace(/\n$/, '').split('\n')
  const added = lines.filter(line => line.startsWith('+')).length
  const removed = lines.filter(line => line.startsWith('-')).length
  return html`
    <details class="diff" open=${open}>
      <summary>${label && `${label}: `}${plural(added, 'line')} more, ${removed} less</summary>
      <pre tabindex="0" role="group" aria-label=${label ?? 'The change'}>${lines.map((line, place) => html`<span key=${place} class=${kindOf(line)}>${line}${'\n'}</span>`)}</pre>
    </details>`
}

const kindOf = line => ({ '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' })[line[0]] ?? ''

const Size = ({ bytes, room }) => {
  if (bytes > mostBytes)
    return html`<strong class="too-much">${sizeOf(bytes)}: more than ${sizeOf(mostBytes)}, it cannot be saved</strong>`
  if (room === null) return sizeOf(bytes)
  if (bytes > room)
    return html`<strong class="too-much">${sizeOf(bytes)}, of which the agent is given ${sizeOf(room)}: shorten it</strong>`
  return `${sizeOf(bytes)} of the ${sizeOf(room)} that the agent is given`
}
