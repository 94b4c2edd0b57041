// The editor for the agent's files: keeps unsaved edits, shows a diff, and never overwrites someone else's change unseen.
import { useEffect, useRef, useState } from 'preact/hooks'
import { sizeOf } from '../chat/files.js'
import { getJson, sendJson } from './api.js'
import { merged, unified } from './diff.js'
import { draftOf, fileState, followDraft, isChanged, reconciled, saveDraft, textToSave } from './drafts.js'
import { count, exactTime, plural } from './format.js'
import { onConnection, useFiles } from './live.js'
import { Card, html, Notice, Skeleton, toast } from './ui.js'

const mostBytes = 1024 * 1024
const encoder = new TextEncoder()

/**
 * @param {{
 *   name: string,
 *   title?: string,
 *   about?: any,
 *   room?: number | null,      how many bytes of it the agent gets
 *   onSaved?: () => void,
 *   acts?: (file: { base: object, changed: boolean }) => any,
 *   locked?: any,      read-only, with this note
 *   children?: any,      how the gateway interprets the file
 * }} props
 */
export const Editor = ({ name, title = name, about, room = null, onSaved, acts, locked, children }) => {
  const [reviewing, setReviewing] = useState(false)
  const file = useFile(name, () => {
    setReviewing(false)
    onSaved?.()
  })
  const { draft, trouble, busy, reloadedAt } = file
  const conflict = useRef(null)
  const changed = draft !== null && isChanged(draft)
  const bytes = draft === null ? 0 : encoder.encode(draft.mine).length

  const save = () => {
    if (draft === null || locked || busy) return
    if (draft.theirs !== null) return conflict.current?.focus()
    if (bytes > mostBytes) return toast(`The file is larger than ${sizeOf(mostBytes)}.`, 'bad')
    if (changed) file.save()
    else toast('No changes to save.')
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
      : html`<h2>${title}</h2><${Notice} trouble=${trouble} retry=${file.reload} />`
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
        <p class="grow quiet"><${Size} bytes=${bytes} room=${room} />${draft.base.version === null ? ' · does not exist yet; saving creates it' : ''}
          <span role="status">${reloadedAt === null ? '' : ` · updated on disk at ${exactTime(reloadedAt)} and reloaded`}</span></p>
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

/** One file: its content on disk, the unsaved edit, and their reconciliation. */
const useFile = (name, onSaved) => {
  const [draft, setDraft] = useState(() => draftOf(name))
  const [state, setState] = useState({ trouble: null, busy: false, reloadedAt: null })
  // Responses are handled with the state at the time they arrive.
  const now = useRef({ draft, run: 0, saving: false, again: false })
  const change = next => {
    now.current.draft = next
    saveDraft(name, next)
    setDraft(next)
  }
  const say = more => setState(before => ({ ...before, ...more }))

  const onFileLoaded = found => {
    const before = now.current.draft
    const next = reconciled(before, fileState(found))
    if (before !== null && next.base.version !== before.base.version && next.mine !== before.mine)
      say({ reloadedAt: Date.now() })
    change(next)
  }
  const reload = async () => {
    // During a save, our own change would look like someone else's.
    if (now.current.saving) {
      now.current.again = true
      return
    }
    now.current.run += 1
    const run = now.current.run
    try {
      const found = await getJson(`/api/file?name=${encodeURIComponent(name)}`)
      if (run !== now.current.run) return
      say({ trouble: null })
      onFileLoaded(found)
    } catch (trouble) {
      // A lost connection already has a banner.
      if (run === now.current.run && (trouble.status !== 0 || now.current.draft === null)) say({ trouble })
    }
  }
  const save = async () => {
    const sent = now.current.draft
    now.current.run += 1 // a pending request predates the save
    now.current.saving = true
    say({ busy: true, trouble: null, reloadedAt: null })
    try {
      const { version, change: made } = await sendJson('/api/file', {
        name,
        text: textToSave(sent),
        version: sent.base.version,
      })
      const { mine } = draftOf(name) ?? now.current.draft // the file may be open in a newer editor by now
      change({ base: { ...sent.base, text: sent.mine, version }, mine, theirs: null })
      toast(`${name} saved.`, 'good', undoOf(made))
      onSaved()
    } catch (trouble) {
      if (trouble.status === 409 && typeof trouble.answer?.text === 'string') onFileLoaded(trouble.answer)
      else say({ trouble })
    }
    now.current.saving = false
    say({ busy: false })
    if (now.current.again) {
      now.current.again = false
      reload()
    }
  }
  const discard = () => {
    const before = now.current.draft
    change({ ...before, mine: before.base.text, theirs: null })
    toast('Changes discarded.', 'good', {
      label: 'Undo',
      run: () => change(reconciled(before, now.current.draft.base)),
    })
    reload()
  }

  useEffect(() => {
    reload()
    const unfollow = onConnection(({ reconnected }) => reconnected && reload())
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
  useFiles(files => files.some(file => file === name || file === folder) && reload())

  const type = mine => {
    if (state.reloadedAt !== null) say({ reloadedAt: null })
    change({ ...now.current.draft, mine })
  }
  return { draft, ...state, reload, save, discard, change, type }
}

/** A change that was too large cannot be undone: its texts are not stored. */
export const undoOf = change =>
  change === null || change.diff.startsWith('(too large')
    ? undefined
    : {
        label: 'Undo',
        run: async () => {
          await sendJson('/api/memory', { undo: change.id })
          toast('Change undone.')
        },
      }

const Conflict = ({ name, draft, decide, focus }) => {
  const { base, mine, theirs } = draft
  const both = theirs.version === null ? null : merged(base.text, mine, theirs.text)
  const take = () => {
    decide({ base: theirs, mine: theirs.text, theirs: null })
    toast('Loaded the version on disk.', 'good', {
      label: 'Restore mine',
      run: () => decide({ base: theirs, mine, theirs: null }),
    })
  }
  return html`
    <${Card} class="conflict">
      <div role="alert"><h3 tabindex="-1" ref=${focus}>${name} was ${theirs.version === null ? 'deleted' : 'changed'} on disk while you were editing.</h3>
        <p class="quiet">Your edits are not lost. ${both === null ? 'Both versions change the same lines. Choose one, then review it before you save.' : 'The changes do not conflict and can be merged.'}</p></div>
      <${Diff} diff=${unified(base.text, theirs.text)} open=${true} label="Changes on disk" />
      <div class="acts">
        ${both !== null && html`<button type="button" class="button primary" onClick=${() => decide({ base: theirs, mine: both, theirs: null })}>Merge</button>`}
        <button type="button" class="button" onClick=${() => decide({ base: theirs, mine, theirs: null })}>Keep mine</button>
        <button type="button" class="button" onClick=${take}>Use version on disk</button>
      </div>
    </${Card}>`
}

const Review = ({ draft }) => html`
  <div class="review">${
    isChanged(draft)
      ? html`<${Diff} diff=${unified(draft.base.text, draft.mine)} open=${true} label="Your changes" />`
      : html`<p class="empty">No changes.</p>`
  }</div>`

/** A unified diff, collapsed unless `open`. */
export const Diff = ({ diff, open, label }) => {
  const lines = diff.replace(/\n$/, '').split('\n')
  const added = lines.filter(line => line.startsWith('+')).length
  const removed = lines.filter(line => line.startsWith('-')).length
  return html`
    <details class="diff" open=${open}>
      <summary>${label && `${label}: `}${plural(added, 'line')} added, ${count(removed)} removed</summary>
      <pre tabindex="0" role="group" aria-label=${label ?? 'Diff'}>${lines.map((line, place) => html`<span key=${place} class=${kindOf(line)}>${line}${'\n'}</span>`)}</pre>
    </details>`
}

const kindOf = line => ({ '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'hunk' })[line[0]] ?? ''

const Size = ({ bytes, room }) => {
  if (bytes > mostBytes)
    return html`<strong class="too-much">${sizeOf(bytes)}: too large to save (${sizeOf(mostBytes)} at most)</strong>`
  if (room === null) return sizeOf(bytes)
  if (bytes > room)
    return html`<strong class="too-much">${sizeOf(bytes)}: the agent gets only ${sizeOf(room)} of it, so shorten it</strong>`
  return `${sizeOf(bytes)} of ${sizeOf(room)}`
}
