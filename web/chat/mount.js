// Puts wire, talk, log, composer and the list of chats together, in an element of whatever page wants a chat.
import { openAttach } from './attach.js'
import { openBanner } from './banner.js'
import { openChats } from './chats.js'
import { notConnected, openComposer } from './composer.js'
import { readOut } from './dom.js'
import { keepUpload, openDrafts } from './drafts.js'
import { uploadLink } from './files.js'
import { markSeen, recentChats, rememberChat } from './kept.js'
import { openLog } from './log.js'
import { buildParts } from './parts.js'
import { openPast } from './past.js'
import { openSearch } from './search.js'
import { openTalk } from './talk.js'
import { openTitle } from './title.js'
import { fits, openUnsent, tooLong } from './unsent.js'
import { openWire } from './wire.js'

/** After these the list of chats is another one. */
const newsForList = new Set(['history', 'accepted', 'said', 'final', 'refused'])

/** What a conversation may be called. */
export const validName = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Lives until `leave`: after that no socket, timer or listener of it is left.
 * @param {HTMLElement} place
 * @param {{
 *   where: 'alone' | 'within',
 *   address: {
 *     named: () => string | null,              the conversation that the address names
 *     of: (id: string) => string,
 *     show: (id: string | null) => void,
 *   },
 *   tryNow?: () => void,                       whoever waits for the gateway waits no longer
 * }} options
 */
export const mountChat = (place, { where, address, tryNow = () => {} }) => {
  const leaving = new AbortController()
  const { signal } = leaving
  const part = buildParts(place, where)
  const title = openTitle(signal)
  /** @type {string | null} */
  let conversation = address.named() ?? recentChats()[0]?.id ?? null
  let line = 'connecting'
  /** What the page had when the line came back. */
  let held = new Set()

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
      const { text, attachments } = talk.find(id) ?? { text: '', attachments: [] }
      composer.reset()
      composer.putBack(text ?? '')
      attach.replace([...attachments, ...attach.ready()])
      talk.drop(id)
      composer.focus()
    },
    retry(id) {
      const { text, attachments } = talk.find(id) ?? { text: '', attachments: [] }
      talk.drop(id)
      log.focus(say(text ?? '', attachments)) // the button is gone
    },
    linkTo: ({ id }) => (conversation === null || id === undefined ? null : uploadLink(conversation, id)),
    fillGap: () => past.fillGap(),
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
  const log = openLog({ part, turns: () => talk.turns(), asked }, signal)
  const composer = openComposer(
    {
      say(text) {
        const attachments = attach.ready()
        attach.replace([])
        say(text, attachments)
      },
      hasFiles: () => !attach.isEmpty(),
      filesHindrance: () => attach.hindrance(),
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
      changed: () => drafts.later(),
    },
    part,
    signal,
  )
  const attach = openAttach(
    {
      part,
      place,
      conversation: () => conversation,
      tell: words => composer.tell(words),
      changed: () => drafts.later(),
      late: keepUpload,
    },
    signal,
  )
  const drafts = openDrafts(
    {
      ...{ composer, attach, newId },
      box: part('box'),
      conversation: () => conversation,
      isNew: () => talk.turns().length === 0,
    },
    signal,
  )
  const past = openPast(
    {
      part,
      talk,
      conversation: () => conversation,
      keepPlace: log.keepPlace,
      show: log.show,
      tell: words => composer.tell(words),
    },
    signal,
  )
  const chats = openChats(
    {
      part,
      addressOf: address.of,
      current: () => conversation,
      open: id => enter(id),
      isTold: where === 'within',
    },
    signal,
  )
  const goTo = hit => {
    chats.closeDrawer()
    if (hit.conversation !== conversation) enter(hit.conversation)
    past.seek(hit)
  }
  openSearch({ part, addressOf: address.of, titleOf: chats.titleOf, open: goTo }, signal)
  const retry = () => {
    tryNow()
    wire.reconnect()
  }
  const banner = openBanner({ place, part, retry }, signal)
  const wire = openWire({ conversation: () => conversation, frame: onFrame, state: onLine }, signal)
  const isAway = () => line === 'offline' || line === 'locked'
  const unsent = openUnsent({ talk, wire, conversation: () => conversation, isAway }, signal)

  const afterChange = () => {
    part('stop').hidden = !talk.isBusy()
    const edited = composer.editing()
    if (edited !== null && talk.find(edited)?.state !== 'waiting') composer.tooLateFor(edited)
    unsent.keep()
  }

  const say = (text, attachments) => {
    const id = newId()
    talk.say(id, text, attachments)
    log.goToEnd()
    if (!fits({ type: 'message', id, text })) {
      talk.take({ type: 'refused', id, reason: tooLong })
      return id
    }
    if (conversation !== null) {
      drafts.leave()
      rememberChat(conversation, text || (attachments[0]?.name ?? ''))
      chats.draw()
    }
    unsent.send(id)
    return id
  }

  function onFrame(frame) {
    if (frame.type === 'hello' && validName.test(frame.conversation)) greet(frame.conversation)
    if (frame.type === 'hello') held = talk.stored()
    if (frame.type === 'final') title.came()
    const change = frame.type === 'action' && frame.phase === 'failed' ? talk.find(frame.id)?.change : null
    if (frame.type === 'history') closeHole(frame)
    talk.take(frame)
    if (frame.type === 'history') {
      past.begin(Number.isSafeInteger(frame.older) ? frame.older : null)
      drafts.told(talk.find)
    }
    if (newsForList.has(frame.type)) chats.refresh()
    if (change?.type === 'edit' && talk.find(frame.id)?.change === null) {
      composer.putBack(change.text)
      composer.tell('Your change did not get through. Enter sends it as a new message.')
    }
  }

  /** So much was said during a break that something is missing in between: what is older can be asked for again. */
  const closeHole = ({ messages, older }) => {
    if (!Number.isSafeInteger(older) || held.size === 0 || messages.some(({ id }) => held.has(id))) return
    talk.forget(held)
    past.leave()
  }

  const greet = name => {
    const isNew = conversation !== name
    // One that the address names by now is about to be opened.
    if ([null, conversation].includes(address.named())) address.show(name)
    conversation = name
    attach.named()
    const first = talk.turns().find(turn => turn.text !== null)
    if (isNew && first !== undefined) rememberChat(name, first.text)
    chats.draw()
  }

  function onLine({ type, retryAt = 0, code }) {
    line = type
    for (const edit of type === 'open' ? [] : talk.forgetChanges()) {
      drafts.owe(edit)
      composer.tell('The line broke before your change got through. It is kept.')
    }
    unsent.onLine(type === 'open', code)
    part('stop').disabled = type !== 'open'
    banner.show({ type, retryAt })
  }

  /** What waits to be sent in a chat that the gateway has not named yet gets a name from us, so that it is found again. */
  const putAway = () => {
    const waiting = talk.turns().find(turn => turn.state === 'sending')
    if (conversation === null && waiting !== undefined) {
      conversation = newId()
      rememberChat(conversation, waiting.text)
      unsent.keep()
    }
    drafts.leave()
  }
  addEventListener('pagehide', putAway, { signal })

  const enter = id => {
    putAway()
    composer.reset()
    if (conversation !== null) markSeen(conversation, Date.now())
    conversation = null // what is cleared now is kept: it belongs to the chat one leaves
    talk.clear()
    past.leave()
    log.goToEnd()
    conversation = id
    drafts.restore()
    unsent.restore()
    address.show(id)
    chats.draw()
    wire.reconnect()
    composer.focus()
  }

  readOut(place, part('said'), signal)

  drafts.restore()
  unsent.restore()
  wire.connect()
  // A keyboard that slides over half of the page is not what one came for.
  if (!matchMedia('(pointer: coarse)').matches) composer.focus()

  return {
    focus: () => composer.focus(),
    open(id) {
      if (id !== conversation) enter(id)
    },
    /** The address has lost the conversation, which is still open. */
    showAddress: () => address.show(conversation),
    /** Something happened in one of the conversations. */
    refresh: () => chats.refresh(),
    leave() {
      putAway()
      leaving.abort()
      title.seen()
      place.replaceChildren()
    },
  }
}

const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
