// Colours for code: found by a worker, one block after the other, and set as elements with text. What takes too long stays plain.

const longest = 50_000
const mostTokens = 20_000
const patienceMs = { begin: 10_000, end: 1000 }
const restMs = 10_000
const mostKept = 100

const names = {
  ...Object.fromEntries(
    [
      ...[
        'asm',
        'bash',
        'c',
        'css',
        'csv',
        'diff',
        'docker',
        'git',
        'go',
        'html',
        'http',
        'ini',
        'java',
        'js',
        'json',
        'log',
      ],
      ...['lua', 'make', 'md', 'pl', 'py', 'regex', 'rs', 'sql', 'toml', 'ts', 'uri', 'xml', 'yaml'],
    ].map(name => [name, name]),
  ),
  ...{ sh: 'bash', shell: 'bash', zsh: 'bash', console: 'bash', 'c++': 'c', cpp: 'c', h: 'c', hpp: 'c', patch: 'diff' },
  ...{ dockerfile: 'docker', golang: 'go', htm: 'html', svg: 'xml', conf: 'ini', kotlin: 'java', javascript: 'js' },
  ...{ jsx: 'js', mjs: 'js', cjs: 'js', jsonc: 'json', json5: 'json', makefile: 'make', markdown: 'md', perl: 'pl' },
  ...{ python: 'py', rust: 'rs', typescript: 'ts', tsx: 'ts', mts: 'ts', url: 'uri', yml: 'yaml' },
}

/** @type {Map<string, [string, string | null][]>} what was found before, so that what is drawn again has its colours at once */
const kept = new Map()
/** @type {{ code: string, language: string, done: (tokens: any[] | null) => void }[]} */
const waiting = []
let worker = null
let timer = 0
let busy = false

/**
 * Colours what is in an element, now or soon; a language that nobody knows stays as it is.
 * @param {HTMLElement} element
 * @param {string} written the language as it was written
 */
export const highlight = async (element, written) => {
  const name = written.toLowerCase()
  const language = Object.hasOwn(names, name) ? names[name] : null
  const code = element.textContent
  if (language === null || code.length > longest || code.trim() === '') return
  const key = `${language}\n${code}`
  const known = kept.get(key)
  if (known !== undefined) return paint(element, known)
  const tokens = await find(code, language)
  if (tokens === null || tokens.length > mostTokens) return
  kept.set(key, tokens)
  if (kept.size > mostKept) kept.delete(kept.keys().next().value)
  if (element.textContent === code) paint(element, tokens)
}

const paint = (element, tokens) =>
  element.replaceChildren(
    ...tokens.map(([text, type]) => {
      if (type === null) return text
      const span = document.createElement('span')
      span.className = `hl-${type}`
      span.textContent = text
      return span
    }),
  )

const find = (code, language) =>
  new Promise(resolve => {
    waiting.push({ code, language, done: resolve })
    next()
  })

const next = () => {
  if (busy) return
  clearTimeout(timer)
  const [job] = waiting
  // Nothing to do: it need not stay.
  if (job === undefined) timer = setTimeout(end, restMs)
  else begin(job)
}
const begin = ({ code, language }) => {
  busy = true
  if (worker === null) {
    worker = new Worker('/web/chat/highlight-worker.js', { type: 'module' })
    worker.addEventListener('error', give(null))
    worker.addEventListener('message', ({ data }) => {
      if (data.type === 'ended') return give(data.tokens)()
      clearTimeout(timer)
      timer = setTimeout(give(null), patienceMs.end)
    })
  }
  worker.postMessage({ code, language })
  timer = setTimeout(give(null), patienceMs.begin)
}
/** Null: it came to nothing, and the worker may be at it still. */
const give = tokens => () => {
  const job = waiting.shift()
  if (tokens === null) end()
  busy = false
  job?.done(tokens)
  next()
}
const end = () => {
  worker?.terminate()
  worker = null
}
