// Syntax highlighting: a worker tokenises one block at a time, and the tokens become spans with text. Code that takes too long stays plain.

const longest = 50_000
const mostTokens = 20_000
const timeoutMs = { begin: 10_000, end: 1000 }
const idleMs = 10_000
const cacheSize = 100

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

/** @type {Map<string, [string, string | null][]>} by language and code, so that code that is drawn again is coloured immediately */
const cache = new Map()
/** @type {{ code: string, language: string, done: (tokens: any[] | null) => void }[]} */
const waiting = []
let worker = null
let timer = 0
let busy = false

/**
 * Colours the code in an element, now or soon; an unknown language stays plain.
 * @param {HTMLElement} element
 * @param {string} written the language as written in the fence
 */
export const highlight = async (element, written) => {
  const name = written.toLowerCase()
  const language = Object.hasOwn(names, name) ? names[name] : null
  const code = element.textContent
  if (language === null || code.length > longest || code.trim() === '') return
  const key = `${language}\n${code}`
  const known = cache.get(key)
  if (known !== undefined) return paint(element, known)
  const tokens = await find(code, language)
  if (tokens === null || tokens.length > mostTokens) return
  cache.set(key, tokens)
  if (cache.size > cacheSize) cache.delete(cache.keys().next().value)
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
  // Idle: the worker is not needed any more.
  if (job === undefined) timer = setTimeout(end, idleMs)
  else begin(job)
}
const begin = ({ code, language }) => {
  busy = true
  if (worker === null) {
    worker = new Worker('/web/chat/highlight-worker.js', { type: 'module' })
    worker.addEventListener('error', finish(null))
    worker.addEventListener('message', ({ data }) => {
      if (data.type === 'ended') return finish(data.tokens)()
      clearTimeout(timer)
      timer = setTimeout(finish(null), timeoutMs.end)
    })
  }
  worker.postMessage({ code, language })
  timer = setTimeout(finish(null), timeoutMs.begin)
}
/** Null: failed or timed out; the worker may still be busy, so it is terminated. */
const finish = tokens => () => {
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
