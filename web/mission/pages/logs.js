// The log, live or paused, filtered by level and text; each line expands to its fields.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { getJson } from '../api.js'
import { exactTime, plural, wholeDate } from '../format.js'
import { onConnection, useFiles } from '../live.js'
import { Badge, CopyButton, copied, Empty, Head, html, Notice, Skeleton, toast } from '../ui.js'

const tones = { warn: 'busy', error: 'bad', fatal: 'bad' }
const first = 300
/** More lines would make the page slow; the whole log is in its files. */
const most = 2000
let last = 0
const numbered = lines => lines.map(line => ({ ...line, id: ++last }))

/** The lines that match, and new ones as they arrive. `wait`: new lines are not loaded yet. */
const useLog = (level, words, wait) => {
  const [state, setState] = useState({ lines: null, kept: true, trouble: null })
  const [news, setNews] = useState(false)
  const now = useRef({ run: 0, cursor: null, loading: false, failed: false, asking: false, again: false })

  const query = after =>
    `/api/logs?level=${level}&q=${encodeURIComponent(words)}&limit=${after === null ? first : most}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`
  const load = async run => {
    Object.assign(now.current, { cursor: null, loading: true, failed: false, again: false })
    try {
      const { lines, cursor, kept } = await getJson(query(null))
      if (run !== now.current.run) return
      Object.assign(now.current, { cursor, loading: false })
      setState({ lines: numbered(lines), kept, trouble: null })
    } catch (trouble) {
      if (run !== now.current.run) return
      Object.assign(now.current, { loading: false, failed: true })
      setState(before => ({ ...before, trouble }))
    }
    if (now.current.again) loadNewer() // new lines arrived during the request
  }
  const loadNewer = async () => {
    const mine = now.current
    if (mine.asking || mine.loading) {
      mine.again = true
      return
    }
    if (mine.cursor === null) return
    mine.asking = true
    const { run } = mine
    const fresh = []
    try {
      for (let more = true; more && run === mine.run; ) {
        mine.again = false
        const page = await getJson(query(mine.cursor))
        if (run !== mine.run) break
        if (page.gap) {
          fresh.length = 0
          await load(run)
          break
        }
        mine.cursor = page.cursor
        fresh.push(...numbered(page.lines))
        more = page.more || mine.again
      }
    } catch {
      // A lost connection already has a banner; missed lines are loaded after the reconnect.
    }
    if (fresh.length > 0 && run === mine.run)
      setState(before => ({ ...before, lines: [...before.lines, ...fresh].slice(-most), trouble: null }))
    mine.asking = false
    if (mine.again) latest.current()
  }
  /** The current function: a pending request may belong to an older filter. */
  const latest = useRef(loadNewer)
  /** Loads newer lines, or everything if the last load failed. */
  latest.current = () => (now.current.failed ? load(now.current.run) : loadNewer())
  useEffect(() => {
    now.current.run += 1
    now.current.cursor = null // it belongs to the previous filter
    const { run } = now.current
    const timer = setTimeout(() => load(run), words === '' ? 0 : 250)
    return () => clearTimeout(timer)
  }, [level, words])
  useFiles(files => {
    if (!files.some(file => file.startsWith('.aetheel/log'))) return
    if (wait) setNews(true)
    else loadNewer()
  })
  useEffect(() => {
    if (wait) return
    setNews(false)
    latest.current()
    return onConnection(({ reconnected }) => reconnected && latest.current())
  }, [wait])
  const retry = () => load(now.current.run)
  return { ...state, news: wait && news, retry }
}

export const Page = () => {
  const [level, setLevel] = useState('trace')
  const [words, setWords] = useState('')
  const [held, setHeld] = useState(false)
  const { lines, kept, trouble, news, retry } = useLog(level, words.trim(), held)
  const copy = async () => {
    if (await copied(lines.map(asText).join('\n'))) toast(`${plural(lines.length, 'line')} copied.`)
    else toast('The browser denied access to the clipboard.', 'bad')
  }
  return html`
    <${Head} title="Logs" about="The log of the gateway, newest last. Stored in .aetheel/log.">
      <button type="button" class="button" aria-pressed=${held ? 'true' : 'false'} onClick=${() => setHeld(!held)}>${held ? (news ? 'Resume (new lines)' : 'Resume') : 'Pause'}</button>
      <button type="button" class="button" aria-disabled=${lines?.length > 0 ? undefined : 'true'} onClick=${() => lines?.length > 0 && copy()}>Copy</button>
    </${Head}>
    <form class="filters" role="search" onSubmit=${event => event.preventDefault()}>
      <label class="field-label grow"><span class="unseen">Search the log</span>
        <input class="input" type="search" placeholder="Search the log" maxlength="200" value=${words} onInput=${event => setWords(event.target.value)} /></label>
      <label class="field-label"><span class="unseen">Level</span>
        <select class="input" value=${level} onChange=${event => setLevel(event.target.value)}>
          <option value="trace">All levels</option><option value="info">Info and above</option><option value="warn">Warnings and above</option><option value="error">Errors only</option>
        </select></label>
    </form>
    ${trouble !== null && (lines === null || trouble.status !== 0) && html`<${Notice} trouble=${trouble} retry=${retry} />`}
    ${lines === null && trouble === null && html`<${Skeleton} rows=${8} />`}
    ${lines !== null && !kept && html`<p class="hint-row"><${Badge} tone="busy">off</${Badge}> <span>The log is not written to files because log.file is off (see Settings).</span></p>`}
    ${lines !== null && lines.length === 0 && html`<${Empty}>${words.trim() === '' && level === 'trace' ? 'The log is empty.' : 'No lines match the filter.'}</${Empty}>`}
    ${lines !== null && lines.length > 0 && html`<${Lines} lines=${lines} />`}`
}

const asText = ({ at, level, text, fields }) =>
  `${new Date(at).toISOString()} ${level.toUpperCase()} ${text}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`

/** Follows the end of the log unless scrolled up. Arrow keys move between lines. */
const Lines = ({ lines }) => {
  const box = useRef(null)
  const atEnd = useRef(true)
  const [open, setOpen] = useState(new Set())
  const [active, setActive] = useState(null)
  const [away, setAway] = useState(false)
  const known = useRef(new Map())
  const toEnd = () => {
    box.current.scrollTop = box.current.scrollHeight
  }
  useLayoutEffect(() => {
    if (atEnd.current) toEnd()
  }, [lines])
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current
    atEnd.current = scrollHeight - scrollTop - clientHeight < 24
    setAway(!atEnd.current)
  }
  const current = lines.some(({ id }) => id === active) ? active : lines.at(-1).id
  const steps = {
    ArrowUp: -1,
    ArrowDown: 1,
    PageUp: -15,
    PageDown: 15,
    Home: Number.NEGATIVE_INFINITY,
    End: Number.POSITIVE_INFINITY,
  }
  const move = event => {
    const step = steps[event.key]
    if (step === undefined || event.target.closest('.line-head') === null) return
    event.preventDefault()
    const at = lines.findIndex(({ id }) => id === current)
    const next = lines[Math.min(lines.length - 1, Math.max(0, at + step))].id
    setActive(next)
    document.getElementById(`line-${next}`)?.focus()
  }
  const toggle = id => {
    setActive(id)
    setOpen(before => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }
  // An unchanged line reuses its node, so that it is not rendered again.
  const before = known.current
  known.current = new Map()
  const drawn = line => {
    const [isOpen, reachable] = [open.has(line.id), line.id === current]
    const last = before.get(line.id)
    const same = last?.isOpen === isOpen && last.reachable === reachable
    const node = same
      ? last.node
      : html`<${Line} key=${line.id} line=${line} open=${isOpen} reachable=${reachable} toggle=${toggle} />`
    known.current.set(line.id, { isOpen, reachable, node })
    return node
  }
  return html`
    <div class="log-frame">
      <ol class="log-lines" ref=${box} aria-label="Log, newest last; use the arrow keys to move between lines" onScroll=${scrolled} onKeyDown=${move}>
        ${lines.map(drawn)}
      </ol>
      ${away && html`<button type="button" class="button small to-end" onClick=${toEnd}>Jump to latest</button>`}
    </div>`
}

const Line = ({ line, open, reachable, toggle }) => {
  const { id, at, level, text, fields } = line
  const { err, ...others } = fields
  return html`
    <li class="log-line ${level}">
      <button type="button" class="line-head" id=${`line-${id}`} tabindex=${reachable ? 0 : -1} aria-expanded=${open ? 'true' : 'false'} onClick=${() => toggle(id)}>
        <span class="clock" title=${wholeDate(at)}>${exactTime(at)}</span>
        <span class="level ${tones[level] ?? ''}">${level}</span>
        <span class="line-text">${text}<span class="fields">${brief(others)}${err && html` <span class="bad-text">${err.message ?? 'error'}</span>`}</span></span>
      </button>
      ${open && html`<${Detail} line=${line} />`}
    </li>`
}

const brief = fields =>
  Object.entries(fields).map(
    ([name, value]) =>
      html` <span class="field"><span class="field-name">${name}=</span>${typeof value === 'string' ? value : JSON.stringify(value)}</span>`,
  )

const Detail = ({ line: { at, level, text, fields } }) => {
  const { err, ...others } = fields
  return html`
    <div class="line-detail">
      <dl class="facts">
        <div><dt>time</dt><dd>${wholeDate(at)}</dd></div>
        ${Object.entries(others).map(
          ([name, value]) =>
            html`<div key=${name}><dt>${name}</dt><dd dir="auto">${typeof value === 'string' ? value : JSON.stringify(value)}</dd></div>`,
        )}
      </dl>
      ${err && html`<pre tabindex="0" aria-label="Stack trace">${err.stack ?? JSON.stringify(err, null, 2)}</pre>`}
      <${CopyButton} text=${JSON.stringify({ time: new Date(at).toISOString(), level, text, ...fields })} label="Copy line" />
    </div>`
}
