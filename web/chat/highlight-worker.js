// Tokenises code for syntax highlighting, in a worker: on pathological input some of the library’s patterns take many seconds, and then
// highlight.js terminates the worker.
import { tokenizer } from '/vendor/highlight/tokenize.js'

/** @type {Map<string, Promise<object | undefined>>} */
const languages = new Map()

const load = name => {
  const known = languages.get(name)
  if (known !== undefined) return known
  const loading = /^[a-z]{1,10}$/.test(name)
    ? import(`/vendor/highlight/languages/${name}.js`).then(module => module.default).catch(() => undefined)
    : Promise.resolve(undefined)
  languages.set(name, loading)
  return loading
}

/** The code as pieces of text with their token type; null: plain text. */
const tokensOf = async (code, language) => {
  const tokens = []
  const put = (text, type = null) => {
    const last = tokens.at(-1)
    if (text === '') return
    if (last !== undefined && last[1] === type) last[0] += text
    else tokens.push([text, type])
  }
  const steps = tokenizer(code, language, put)
  // A language may embed another one, which is loaded on demand.
  for (let step = steps.next(); !step.done; ) step = steps.next(await load(step.value))
  return tokens
}

addEventListener('message', async ({ data: { code, language } }) => {
  await load(language)
  postMessage({ type: 'began' })
  postMessage({ type: 'ended', tokens: await tokensOf(code, language) })
})
