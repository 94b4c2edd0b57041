// The chat page: puts wire, talk, log, composer and the list of chats together.
import { openChats } from './chats.js'
import { notConnected, openComposer } from './composer.js'
import { byId } from './dom.js'
import { keepUnsent, recentChats, rememberChat, unsentMessages } from './kept.js'
import { openLog } from './log.js'
import { openTalk } from './talk.js'
import { openWire } from './wire.js'

const longestFrame = 1_000_000 // the gateway closes the line at 1 MiB
const fits = frame => new TextEncoder().encode(JSON.stringify(frame)).length <= longestFrame
const tooLong = 'Too long: this message is larger than 1 MB. Please shorten it or send it in parts.'
const patienceMs = 10_000 // for "accepted", before the line counts as dead

const validName = /^[A-Za-z0-9._-]{1,64}$/
const named = () => {
  const name = location.hash.slice(1)
  return validName.test(name) ? name : null
}

/** @type {string | null} */
let conversation = named() ?? recentChats()[0]?.id ?? null
let line = 'connecting'
let retryAt = 0

const asked = {
  edit(id) {
    const turn = talk.find(id)
    if (turn?.state === 'waiting' && turn.text !== null) composer.startEditing(id, turn.text)
  },
  cancel(id) {
    if (wire.send({ type: 'cancel', id })) talk.change(id, { type: 'cancel' })
    else composer.tell(notConnected)
  },
  takeBack(id) {
    composer.putBack(talk.find(id)?.text ?? '')
    talk.drop(id)
    composer.focus()
  },
  retry(id) {
    const text = talk.find(id)?.text ?? ''
    talk.drop(id)
    say(text)
  },
}

const talk = openTalk({
  now: () => Date.now(),
  changed(turn) {
    log.changed(turn)
    afterChange()
  },
  reordered() {
    log.reordered()
    afterChange()
  },
})
const log = openLog({ turns: () => talk.turns(), asked })
const composer = openComposer({
  say: text => say(text),
  edit(id, text) {
    const frame = { type: 'edit', id, text }
    if (talk.find(id)?.text === text) return null
    if (!fits(frame)) return tooLong
    if (!wire.send(frame)) return notConnected
    talk.change(id, { type: 'edit', text })
    return null
  },
  editLast() {
    const last = talk.turns().findLast(turn => turn.state === 'waiting')
    if (last !== undefined) asked.edit(last.id)
  },
  stop() {
    if (talk.isBusy()) wire.send({ type: 'stop' })
  },
})
const chats = openChats({ current: () => conversation, open: id => enter(id) })
const wire = openWire({ conversation: () => conversation, frame: onFrame, state: onLine })

const afterChange = () => {
  byId('stop').hidden = !talk.isBusy()
  const edited = composer.editing()
  if (edited !== null && talk.find(edited)?.state !== 'waiting') composer.tooLateFor(edited)
  if (conversation === null) return
  keepUnsent(
    conversation,
    unaccepted().map(({ id, text, at }) => ({ id, text, at })),
    id => talk.find(id) !== undefined,
  )
}

const say = text => {
  const id = newId()
  talk.say(id, text)
  log.goToEnd()
  if (!fits({ type: 'message', id, text })) {
    talk.take({ type: 'refused', id, reason: tooLong })
    return
  }
  if (conversation !== null) {
    rememberChat(conversation, text)
    chats.draw()
  }
  send(id, text)
}

const send = (id, text) => {
  const sent = wire.send({ type: 'message', id, text })
  if (sent) expectAccepted(id)
  talk.keep(id, !sent && isAway())
}

/** A line can be dead without anyone being told: then a new one is taken, and the message sent again under its id. */
const expectAccepted = id => {
  setTimeout(() => {
    const turn = talk.find(id)
    if (turn?.state === 'sending' && !turn.kept && wire.isOpen()) wire.reconnect()
  }, patienceMs)
}

const unaccepted = () => talk.turns().filter(turn => turn.state === 'sending')
const isAway = () => line === 'offline' || line === 'locked'

function onFrame(frame) {
  if (frame.type === 'hello' && validName.test(frame.conversation)) greet(frame.conversation)
  if (frame.type === 'final' && document.hidden) document.title = '● Aetheel'
  const change = frame.type === 'action' && frame.phase === 'failed' ? talk.find(frame.id)?.change : null
  talk.take(frame)
  if (change?.type === 'edit' && talk.find(frame.id)?.change === null && composer.isEmpty()) {
    composer.putBack(change.text)
    composer.tell('Your change did not get through. Enter sends it as a new message.')
  }
}

const greet = name => {
  const isNew = conversation !== name
  conversation = name
  history.replaceState(null, '', `#${name}`)
  const first = talk.turns().find(turn => turn.text !== null)
  if (isNew && first !== undefined) rememberChat(name, first.text)
  chats.draw()
}

function onLine({ type, retryAt: at = 0, code }) {
  line = type
  retryAt = at
  if (type !== 'open') talk.forgetChanges()
  for (const { id, text } of unaccepted()) {
    if (type === 'open') send(id, text)
    else if (code === 1009) talk.take({ type: 'refused', id, reason: tooLong })
    else if (isAway()) talk.keep(id, true)
  }
  showLine()
}

const showLine = () => {
  const words = { connecting: 'connecting', open: 'connected', offline: 'offline', locked: 'offline' }
  const connection = byId('connection')
  document.body.dataset.line = line
  byId('stop').disabled = line !== 'open'
  if (connection.textContent !== words[line]) connection.textContent = words[line]
  const banner = byId('banner')
  // While it tries again the banner stays as it is: no flicker.
  if (line !== 'connecting') banner.hidden = line === 'open'
  if (line === 'locked') {
    byId('banner-text').textContent =
      'The link of this browser is no longer valid. “npx aetheel status”, in the folder where Aetheel was started, prints the new one.'
  } else if (line === 'offline') {
    const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000))
    byId('banner-text').textContent =
      `The gateway cannot be reached. Next try in ${seconds} s; what you write is kept and sent then.`
  }
}
setInterval(() => {
  if (line === 'offline') showLine()
}, 1000)

const enter = id => {
  conversation = null // what is cleared now is kept: it belongs to the chat one leaves
  composer.reset()
  talk.clear()
  conversation = id
  restoreUnsent()
  history.replaceState(null, '', id === null ? location.pathname : `#${id}`)
  chats.draw()
  wire.reconnect()
  composer.focus()
}

const restoreUnsent = () => {
  if (conversation === null) return
  for (const { id, text, at } of unsentMessages(conversation)) talk.say(id, text, at)
}

const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

byId('try-now').addEventListener('click', () => wire.reconnect())
addEventListener('hashchange', () => {
  if (named() !== null && named() !== conversation) enter(named())
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) document.title = 'Aetheel'
})

restoreUnsent()
wire.connect()
// A keyboard that slides over half of the page is not what one came for.
if (!matchMedia('(pointer: coarse)').matches) composer.focus()
