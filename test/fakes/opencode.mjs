#!/usr/bin/env node
// A fake opencode: `opencode run --format json` and `opencode serve`.
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import { args, openQuestions, openSession, perform, prepare, say, takeTurn, value } from './stand-in.mjs'

const version = '9.9.9'
const lost = () => 'Error: Session not found'
const newId = kind => `${kind}_${crypto.randomUUID()}`
/** Like those of the real one: what comes later is greater. */
let messages = 0
const newMessageId = () => `msg_${Date.now().toString(16)}${String(++messages).padStart(6, '0')}`
const usage = used => ({ input: used, output: 7, reasoning: 0, cache: { read: 0, write: 0 } })
const errorOf = (status, text) => ({
  name: 'APIError',
  data: { message: text, ...(status ? { statusCode: status } : {}) },
})

const config = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT ?? '{}')
const rule = config.agent?.aetheel?.permission?.bash
const permits = () =>
  rule === 'deny' ? 'refused' : rule === 'ask' ? (args[0] === 'serve' ? 'asked' : 'refused') : 'allowed'

if (args[0] === 'models') console.log('opencode/own\nx/m\nx/deep/er')
else if (args[0] === 'serve') serve()
else await runOnce()

async function runOnce() {
  const prompt = config.agent?.[value('--agent')]?.prompt ?? ''
  let sessionID = ''
  const part = (type, more) =>
    say({ type: type.replace('-', '_'), timestamp: 1, sessionID, part: { type, sessionID, ...more } })
  await perform({
    version,
    resume: value('--session'),
    chosen: newId('ses'),
    systemFile: /^\{file:(.*)\}$/.exec(prompt)?.[1],
    lost,
    begin(session) {
      sessionID = session
      part('step-start', {})
    },
    delta() {},
    permits,
    part(text, used) {
      part('text', { text })
      part('step-finish', { reason: 'tool-calls', tokens: { ...usage(0), ...used }, cost: 0 })
    },
    tool(phase) {
      if (phase === 'ended')
        say({
          type: 'tool_use',
          sessionID,
          part: {
            type: 'tool',
            tool: 'read',
            callID: 'c1',
            state: { status: 'completed', input: { filePath: 'memory.md' } },
          },
        })
    },
    answer(text, used) {
      part('text', { text })
      part('step-finish', { reason: 'stop', tokens: usage(used), cost: 0.01 })
    },
    error: (status, text) => say({ type: 'error', sessionID, error: errorOf(status, text) }),
    exitOnError: 1,
  })
}

/** All sessions in one server, protected by the password. */
function serve() {
  prepare({ version })
  const expected = `Basic ${btoa(`${process.env.OPENCODE_SERVER_USERNAME ?? 'opencode'}:${process.env.OPENCODE_SERVER_PASSWORD}`)}`
  const listeners = new Set()
  const running = new Map()
  /** Open permission requests: the session and the command of each. */
  const asked = new Map()
  const questions = openQuestions()
  const replied = (id, reply) => {
    emit('permission.replied', { sessionID: asked.get(id).session, requestID: id, reply })
    asked.delete(id)
  }
  // A little late, so that a reply overtakes the last events.
  const emit = (type, properties) => {
    const event = `data: ${JSON.stringify({ id: newId('evt'), type, properties })}\n\n`
    setTimeout(() => {
      for (const listener of listeners) listener.write(event)
    }, 5)
  }
  const infoOf = id => ({ id, directory: process.cwd(), title: 'Aetheel' })

  /** Like the real one: 404 for an unknown id, 500 for a malformed id. */
  function find(id) {
    if (!id.startsWith('ses'))
      return { status: 500, body: { name: 'UnknownError', data: { message: 'Unexpected server error.' } } }
    let status = 200
    openSession(id, undefined, () => (status = 404), lost)
    return status === 200
      ? { status, body: infoOf(id) }
      : { status, body: { name: 'NotFoundError', data: { message: `Session not found: ${id}` } } }
  }

  async function answer(session, { system, parts: [{ text: prompt }] }) {
    const known = running.get(session)?.known ?? find(session).status === 200
    const turn = {
      known: true,
      abort: new AbortController(),
      unasked: null,
      other: running.get(session)?.other,
      mail: [],
    }
    running.set(session, turn)
    const about = { sessionID: session }
    const user = { id: newMessageId(), role: 'user', ...about }
    const assistant = { role: 'assistant', providerID: 'x', modelID: 'm', time: { created: 1 }, ...about }
    let info = { id: newMessageId(), parentID: user.id, ...assistant }
    const parts = []
    let calls = 0
    let part = null
    const update = one =>
      emit('message.part.updated', { ...about, part: { id: newId('prt'), messageID: info.id, ...about, ...one } })
    const fail = error => {
      info.error = error
      emit('session.error', { ...about, error })
      emit('session.status', { ...about, status: { type: 'idle' } })
    }
    /** A turn that nobody asked for, as when a background task reports; returns what ends it. */
    const beginUnasked = text => {
      const asked = { id: newMessageId(), role: 'user', ...about }
      const other = { id: newMessageId(), parentID: asked.id, ...assistant }
      const words = { id: newId('prt'), messageID: other.id, type: 'text', text: '', ...about }
      emit('message.updated', { ...about, info: asked })
      emit('message.updated', { ...about, info: other })
      update(words)
      return () => {
        // The changes that a turn made are added to its prompt afterwards, at any time.
        emit('message.updated', { ...about, info: { ...asked, summary: { diffs: [] } } })
        emit('message.updated', { ...about, info: other })
        emit('message.part.delta', { ...about, messageID: other.id, partID: words.id, field: 'text', delta: text })
        update({ ...words, text })
        emit('message.updated', { ...about, info: { ...other, finish: 'stop', time: { created: 1, completed: 2 } } })
        emit('session.idle', about)
      }
    }
    const voice = {
      system,
      begin() {
        turn.begun = true
        emit('message.updated', { ...about, info: user })
        emit('message.part.updated', {
          ...about,
          part: { id: newId('prt'), messageID: user.id, type: 'text', text: prompt, ...about },
        })
        emit('session.status', { ...about, status: { type: 'busy' } })
        emit('message.updated', { ...about, info: { ...info } })
        update({ type: 'step-start' })
        const thought = { id: newId('prt'), type: 'reasoning', text: '' }
        update(thought)
        emit('message.part.delta', {
          ...about,
          messageID: info.id,
          partID: thought.id,
          field: 'text',
          delta: 'thinking',
        })
        update({ ...thought, text: 'thinking', time: { start: 1, end: 2 } })
      },
      think() {
        const thought = { id: 'prt_thought', type: 'reasoning', text: '', time: { start: 1 } }
        update(thought)
        emit('message.part.delta', {
          ...about,
          messageID: info.id,
          partID: thought.id,
          field: 'text',
          delta: 'a secret thought',
        })
      },
      permits,
      mail: turn.mail,
      hearsAll: true,
      /** Its loop goes on with a message that is new. */
      heard(text) {
        emit('message.updated', {
          ...about,
          info: { ...info, finish: 'tool-calls', time: { created: 1, completed: 2 } },
        })
        const more = { id: newMessageId(), role: 'user', ...about }
        emit('message.updated', { ...about, info: more })
        emit('message.part.updated', {
          ...about,
          part: { id: newId('prt'), messageID: more.id, type: 'text', text, ...about },
        })
        info = { id: newMessageId(), parentID: more.id, ...assistant }
        emit('message.updated', { ...about, info: { ...info } })
      },
      ask({ id: callID, command, sub }, signal) {
        const from = { sessionID: sub ? newId('ses') : session }
        if (sub) emit('session.created', { ...from, info: { id: from.sessionID, parentID: session } })
        const state = { status: 'running', input: { command, description: 'does it' } }
        const part = { id: newId('prt'), messageID: info.id, type: 'tool', tool: 'bash', callID, state, ...from }
        const id = newId('per')
        const about = { id, ...from, permission: 'bash', patterns: [command], metadata: { command }, always: [] }
        emit('permission.asked', { ...about, tool: { messageID: info.id, callID } })
        // Sometimes only after the request.
        emit('message.part.updated', { ...from, part })
        asked.set(id, { session: from.sessionID, command })
        // After an abort it still waits; what is allowed then is carried out.
        return questions.wait(id, signal, () => null)
      },
      used({ id: callID, command, sub }, phase, result) {
        if (sub || phase === 'started') return
        const { output, exit } = result
        const state = { input: { command, description: 'does it' } }
        const end =
          exit === null
            ? { status: 'error', error: output }
            : { status: 'completed', output, metadata: { output, exit } }
        update({ id: `prt_${callID}`, type: 'tool', tool: 'bash', callID, state: { ...state, ...end } })
      },
      // When this turn is over, or before it starts.
      unasked(text) {
        if (turn.begun) turn.unasked = text
        else beginUnasked(text)()
      },
      open() {
        calls += 1
        part = { id: newId('prt'), messageID: info.id, type: 'text', text: '', ...about }
        update(part)
      },
      part(_, used) {
        update(part)
        update({ type: 'step-finish', reason: 'tool-calls', tokens: { ...usage(0), ...used }, cost: 0 })
      },
      delta(text) {
        part.text += text
        emit('message.part.delta', { ...about, messageID: info.id, partID: part.id, field: 'text', delta: text })
        turn.other?.()
        turn.other = undefined
      },
      tool(phase) {
        const input = { filePath: 'memory.md' }
        const tool = { id: `prt_tool_${calls}`, type: 'tool', tool: 'read', callID: `c${calls}` }
        if (phase === 'started') {
          update({ ...tool, state: { status: 'pending', input: {} } })
          update({ ...tool, state: { status: 'running', input } })
        }
        update({ ...tool, state: { status: phase === 'started' ? 'running' : 'completed', input } })
      },
      answer(text, used) {
        parts.push({ ...part, text })
        update({ ...part, text })
        update({ type: 'step-finish', reason: 'stop', tokens: usage(used), cost: 0.01 })
      },
      error(status, text) {
        // Temporary errors are retried a few times.
        for (const attempt of status === 429 || status >= 500 ? [1, 2, 3, 4, 5] : [])
          emit('session.status', { ...about, status: { type: 'retry', attempt, message: text, next: 1 } })
        fail(errorOf(status, text))
      },
    }
    await takeTurn(voice, { id: session, resumed: known }, prompt, turn.abort.signal)
    if (turn.abort.signal.aborted) fail({ name: 'MessageAbortedError', data: { message: 'Aborted' } })
    info.time = { created: 1, completed: 2 }
    info.finish = 'stop'
    emit('message.updated', { ...about, info })
    emit('session.status', { ...about, status: { type: 'idle' } })
    emit('session.idle', about)
    // It ends at the worst moment: between the words of the next answer.
    running.set(session, { known: true, other: turn.unasked === null ? undefined : beginUnasked(turn.unasked) })
    return { status: 200, body: { info, parts } }
  }

  /** A refusal also refuses everything else that the session asks. */
  function reply(id, { reply, message }) {
    const about = asked.get(id)
    if (!about) return false
    const others = [...asked].filter(([one, { session }]) => one !== id && session === about.session)
    replied(id, reply)
    const isOpen = questions.answer(id, reply === 'once' ? { allow: true } : { allow: false, message })
    if (reply === 'once' && !isOpen) spawnSync('sh', ['-c', about.command])
    for (const [one] of reply === 'reject' ? others : []) {
      replied(one, 'reject')
      questions.answer(one, { allow: false, message: 'The user rejected permission to use this specific tool call.' })
    }
    return true
  }

  async function route(method, path, body) {
    const [, top, session, what] = path.split('/')
    if (method === 'GET' && path === '/path') return { status: 200, body: { directory: process.cwd() } }
    if (method === 'GET' && ['config', 'mcp', 'skill'].includes(top)) return { status: 200, body: {} }
    if (top === 'permission') return { status: 200, body: reply(session, body) }
    if (top !== 'session') return { status: 404, body: {} }
    if (method === 'POST' && !session) {
      const { id } = openSession(undefined, newId('ses'), () => {}, lost)
      running.set(id, { known: false })
      return { status: 200, body: infoOf(id) }
    }
    if (method === 'GET') return find(session)
    if (what === 'abort') {
      running.get(session)?.abort?.abort()
      return { status: 200, body: true }
    }
    if (what === 'prompt_async') {
      running.get(session)?.mail?.push(body.parts[0].text)
      return { status: 204, body: {} }
    }
    return answer(session, body)
  }

  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== expected) return response.writeHead(401).end()
    if (request.url === '/event') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      listeners.add(response)
      response.on('close', () => listeners.delete(response))
      return response.write(`data: ${JSON.stringify({ type: 'server.connected', properties: {} })}\n\n`)
    }
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const { status, body } = await route(request.method, request.url, text === '' ? {} : JSON.parse(text))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  // The real one keeps running when its input ends, and exits on SIGTERM.
  server.listen(0, '127.0.0.1', () =>
    console.log(`opencode server listening on http://127.0.0.1:${server.address().port}`),
  )
}
