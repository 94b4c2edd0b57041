// Builds the chat in an element of the page: wires up connection, transcript, turn list, composer and chat list.
import { getJson } from './api.js'
import { createAttachments } from './attachments.js'
import { createBanner } from './banner.js'
import { createChatList } from './chat-list.js'
import { createComposer, notConnected } from './composer.js'
import { createConnection } from './connection.js'
import { announce, createAnnouncer } from './dom.js'
import { addToDraft, createDrafts } from './drafts.js'
import { uploadLink } from './files.js'
import { createHistory } from './history.js'
import { buildParts } from './parts.js'
import { gistOf, titleOf } from './request-words.js'
import { createSearch } from './search.js'
import { markSeen, recentChats, rememberChat } from './storage.js'
import { createTitleMarker } from './title.js'
import { createTranscript } from './transcript.js'
import { createTurnList } from './turn-list.js'
import { createUnsent, fits, tooLong } from './unsent.js'

/** Frames after which the chat list must be refreshed. */
const listFrames = new Set(['history', 'accepted', 'said', 'final', 'refused'])

/** What a valid name of a conversation looks like. */
export const validName = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Lives until `leave`, which closes its socket and removes its timers and listeners.
 * @param {HTMLElement} place
 * @param {{
 *   where: 'alone' | 'within',
 *   address: {
 *     named: () => string | null,              the conversation in the address
 *     of: (id: string) => string,
 *     show: (id: string | null) => void,
 *   },
 *   tryNow?: () => void,                       “Try now” was clicked
 * }} options
 */
export const mountChat = (place, { where, address, tryNow = () => {} }) => {
  const leaving = new AbortController()
  const { signal } = leaving
  const part = buildParts(place, where)
  const title = createTitleMarker(signal)
  /** @type {string | null} */
  let conversation = address.named() ?? recentChats()[0]?.id ?? null
  let connectionState = 'connecting'
  /** The stored turns on the page at the last reconnect. */
  let stored = new Set()

  const handlers = {
    edit(id) {
      const turn = transcript.find(id)
      if (turn?.state === 'waiting' && turn.text !== null) composer.startEditing(id, turn.text)
    },
    cancel(id) {
      if (connection.send({ type: 'cancel', id })) transcript.change(id, { type: 'cancel' })
      else composer.notify(notConnected)
    },
    /** The answer says whether the running turn has taken it. */
    steer(id) {
      if (!connection.send({ type: 'steer', id })) composer.notify(notConnected)
    },
    askAgain(id) {
      const { text, attachments } = transcript.find(id) ?? { text: '', attachments: [] }
      say(text ?? '', attachments)
    },
    askDifferently(id) {
      composer.restoreText(transcript.find(id)?.text ?? '')
      composer.focus()
    },
    goOn: () => void say('/continue', []),
    takeBack(id) {
      const { text, attachments } = transcript.find(id) ?? { text: '', attachments: [] }
      composer.reset()
      composer.restoreText(text ?? '')
      attach.replace([...attachments, ...attach.ready()])
      transcript.drop(id)
      composer.focus()
    },
    retry(id) {
      const { text, attachments } = transcript.find(id) ?? { text: '', attachments: [] }
      transcript.drop(id)
      turnList.focus(say(text ?? '', attachments)) // the button is gone
    },
    linkTo: ({ id }) => (conversation === null || id === undefined ? null : uploadLink(conversation, id)),
    fillGap: () => history.fillGap(),
    loadWork: id => getJson(`/api/work?${new URLSearchParams({ conversation: conversation ?? '', id })}`, signal),
    answered: request => transcript.take({ type: 'request', request }),
  }

  const transcript = createTranscript({
    now: () => Date.now(),
    conversation: () => conversation,
    changed(turn) {
      turnList.changed(turn)
      afterChange()
    },
    reordered() {
      turnList.reordered()
      afterChange()
    },
  })
  const turnList = createTurnList({ part, turns: () => transcript.turns(), handlers }, signal)
  const composer = createComposer(
    {
      say(text) {
        const attachments = attach.ready()
        attach.replace([])
        say(text, attachments)
      },
      hasFiles: () => !attach.isEmpty(),
      filesBlocked: () => attach.blockedBecause(),
      edit(id, text) {
        const frame = { type: 'edit', id, text }
        if (transcript.find(id)?.text === text) return null
        if (!fits(frame)) return tooLong
        if (!connection.send(frame)) return notConnected
        transcript.change(id, { type: 'edit', text })
        return null
      },
      editLast() {
        const last = transcript.turns().findLast(turn => turn.state === 'waiting')
        if (last !== undefined) handlers.edit(last.id)
      },
      stop() {
        if (transcript.isBusy()) connection.send({ type: 'stop' })
      },
      changed: () => drafts.saveSoon(),
    },
    part,
    signal,
  )
  const attach = createAttachments(
    {
      part,
      place,
      conversation: () => conversation,
      notify: words => composer.notify(words),
      changed: () => drafts.saveSoon(),
      uploadedLate: addToDraft,
    },
    signal,
  )
  const drafts = createDrafts(
    {
      ...{ composer, attach, newId },
      box: part('box'),
      conversation: () => conversation,
      isNew: () => transcript.turns().length === 0,
    },
    signal,
  )
  const history = createHistory(
    {
      part,
      transcript,
      conversation: () => conversation,
      keepPlace: turnList.keepPlace,
      show: turnList.show,
      notify: words => composer.notify(words),
    },
    signal,
  )
  const chatList = createChatList(
    {
      part,
      addressOf: address.of,
      current: () => conversation,
      open: id => enter(id),
      isNotified: where === 'within',
    },
    signal,
  )
  const goTo = hit => {
    chatList.closeDrawer()
    if (hit.conversation !== conversation) enter(hit.conversation)
    history.jumpTo(hit)
  }
  createSearch({ part, addressOf: address.of, titleOf: chatList.titleOf, open: goTo }, signal)
  const retry = () => {
    tryNow()
    connection.reconnect()
  }
  const banner = createBanner({ place, part, retry }, signal)
  const connection = createConnection({ conversation: () => conversation, frame: onFrame, state: onConnection }, signal)
  const isAway = () => connectionState === 'offline' || connectionState === 'locked'
  const unsent = createUnsent({ transcript, connection, conversation: () => conversation, isAway }, signal)

  const afterChange = () => {
    part('stop').hidden = !transcript.isBusy()
    const edited = composer.editing()
    if (edited !== null && transcript.find(edited)?.state !== 'waiting') composer.tooLateFor(edited)
    unsent.save()
  }

  const say = (text, attachments) => {
    const id = newId()
    transcript.add(id, text, attachments)
    turnList.goToEnd()
    if (!fits({ type: 'message', id, text })) {
      transcript.take({ type: 'refused', id, reason: tooLong })
      return id
    }
    if (conversation !== null) {
      drafts.save()
      rememberChat(conversation, text || (attachments[0]?.name ?? ''))
      chatList.draw()
    }
    unsent.send(id)
    return id
  }

  function onFrame(frame) {
    if (frame.type === 'hello' && validName.test(frame.conversation)) onHello(frame.conversation)
    if (frame.type === 'hello') stored = transcript.stored()
    if (frame.type === 'final') title.mark()
    if (frame.type === 'request' && frame.request?.state === 'open') {
      title.mark()
      announce(place, `${titleOf(frame.request)} ${gistOf(frame.request)}`)
    }
    const change = frame.type === 'action' && frame.phase === 'failed' ? transcript.find(frame.id)?.change : null
    if (frame.type === 'history') dropBeforeHole(frame)
    transcript.take(frame)
    if (frame.type === 'history') {
      history.init(Number.isSafeInteger(frame.older) ? frame.older : null)
      drafts.onHistory(transcript.find)
    }
    if (listFrames.has(frame.type)) chatList.refresh()
    if (change?.type === 'edit' && transcript.find(frame.id)?.change === null) {
      composer.restoreText(change.text)
      composer.notify('Your edit could not be saved. Press Enter to send it as a new message.')
    }
  }

  /** Too many messages were missed while disconnected: drops the turns before the hole, which can be loaded again as older ones. */
  const dropBeforeHole = ({ messages, older }) => {
    if (!Number.isSafeInteger(older) || stored.size === 0 || messages.some(({ id }) => stored.has(id))) return
    transcript.forget(stored)
    history.reset()
  }

  const onHello = name => {
    const isNew = conversation !== name
    // The address may name another conversation by now, which is about to be opened.
    if ([null, conversation].includes(address.named())) address.show(name)
    conversation = name
    attach.named()
    const first = transcript.turns().find(turn => turn.text !== null)
    if (isNew && first !== undefined) rememberChat(name, first.text)
    chatList.draw()
  }

  function onConnection({ type, retryAt = 0, code }) {
    connectionState = type
    for (const edit of type === 'open' ? [] : transcript.forgetChanges()) {
      drafts.holdEdit(edit)
      composer.notify('The connection was lost before your edit was saved. It is kept here.')
    }
    unsent.onConnection(type === 'open', code)
    part('stop').disabled = type !== 'open'
    banner.show({ type, retryAt })
  }

  /** An unsent message in a chat the gateway has not named yet: names the chat, so that the message can be found again. */
  const savePending = () => {
    const waiting = transcript.turns().find(turn => turn.state === 'sending')
    if (conversation === null && waiting !== undefined) {
      conversation = newId()
      rememberChat(conversation, waiting.text)
      unsent.save()
    }
    drafts.save()
  }
  addEventListener('pagehide', savePending, { signal })

  const enter = id => {
    savePending()
    composer.reset()
    if (conversation !== null) markSeen(conversation, Date.now())
    conversation = null // so that clearing does not delete the unsent messages of the previous chat
    transcript.clear()
    history.reset()
    turnList.goToEnd()
    conversation = id
    drafts.restore()
    unsent.restore()
    address.show(id)
    chatList.draw()
    connection.reconnect()
    composer.focus()
  }

  createAnnouncer(place, part('announcer'), signal)

  drafts.restore()
  unsent.restore()
  connection.connect()
  // On touch screens the keyboard would cover half of the page.
  if (!matchMedia('(pointer: coarse)').matches) composer.focus()

  return {
    focus: () => composer.focus(),
    open(id) {
      if (id !== conversation) enter(id)
    },
    /** Puts the open conversation back into the address. */
    showAddress: () => address.show(conversation),
    /** Something has happened in one of the conversations. */
    refresh: () => chatList.refresh(),
    leave() {
      savePending()
      leaving.abort()
      title.clear()
      place.replaceChildren()
    },
  }
}

const newId = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(12))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
