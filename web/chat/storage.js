// What this browser stores: recent chats, when they were last read, drafts, and messages the gateway has not accepted yet.

const recentKey = 'aetheel.recent'
const draftsKey = 'aetheel.drafts'
const seenKey = 'aetheel.seen'
const hiddenKey = 'aetheel.hidden'
const unsentKey = conversation => `aetheel.unsent.${conversation}`
const longestList = 20
const mostRemembered = 500
const longestDraft = 200_000

const readAny = key => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null // storage is blocked, or the value is not ours
  }
}
const read = key => {
  const value = readAny(key)
  return Array.isArray(value) ? value : []
}
const readMap = key => {
  const value = readAny(key)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}

const write = (key, value) => {
  try {
    if (Object.keys(value).length === 0) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(value))
  } catch {
    // storage is blocked or full: the page works without it
  }
}
/** Keeps the entries written last. */
const put = (key, id, value, most = mostRemembered) => {
  const { [id]: _, ...others } = readMap(key)
  const entries = [...Object.entries(others), ...(value === null ? [] : [[id, value]])]
  write(key, Object.fromEntries(entries.slice(-most)))
}

/** Newest first. */
export const recentChats = () => read(recentKey).filter(chat => typeof chat?.id === 'string')

export const rememberChat = (id, title) => {
  const known = recentChats().find(chat => chat.id === id)
  const others = recentChats().filter(chat => chat.id !== id)
  const short = title.replaceAll(/\s+/g, ' ').trim().slice(0, 60)
  write(recentKey, [{ id, title: known?.title || short, at: Date.now() }, ...others].slice(0, longestList))
}

/** Removes a chat from the list until it has a new message. */
export const hideChat = (id, at) => {
  write(
    recentKey,
    recentChats().filter(chat => chat.id !== id),
  )
  write(unsentKey(id), [])
  saveDraft(id)
  put(hiddenKey, id, at)
}
/** @returns {Record<string, number>} each is hidden until it has something newer than this */
export const hiddenChats = () => readMap(hiddenKey)

/** @returns {{ since: number, of: (id: string) => number }} anything later is unread; everything before the first visit counts as read */
export const seenChats = () => {
  const seen = readMap(seenKey)
  if (typeof seen['*'] !== 'number') put(seenKey, '*', Date.now())
  return { of: id => seen[id] ?? seen['*'] ?? Number.POSITIVE_INFINITY }
}
export const markSeen = (id, at) => {
  if (readMap(seenKey)[id] !== at) put(seenKey, id, at)
}

const noDraft = { text: '', attachments: [], edit: null }

/**
 * @returns {{
 *   text: string, attachments: { id: string, name: string, bytes: number, type: string }[],
 *   edit: { id: string, text: string } | null,
 * }} `edit`: the edit of a queued message
 */
export const draftOf = id => {
  const draft = readMap(draftsKey)[id]
  if (typeof draft?.text !== 'string') return noDraft
  return { text: draft.text, attachments: filesIn(draft.attachments), edit: editIn(draft.edit) }
}
const filesIn = list => (Array.isArray(list) ? list.filter(file => typeof file?.id === 'string') : [])
const editIn = edit => (typeof edit?.id === 'string' && typeof edit.text === 'string' ? edit : null)
export const chatsWithDrafts = () => new Set(Object.keys(readMap(draftsKey)))
/** Survives a reload. Very long texts are not stored. */
export const saveDraft = (id, { text, attachments, edit } = noDraft) => {
  const draft = {
    text: text.length > longestDraft ? '' : text,
    attachments,
    edit: edit !== null && edit.text.length > longestDraft ? null : edit,
  }
  const [next, before] = [JSON.stringify(draft), JSON.stringify(draftOf(id))]
  if (next !== before) put(draftsKey, id, next === JSON.stringify(noDraft) ? null : draft, 50)
}

export const unsentMessages = conversation =>
  read(unsentKey(conversation))
    .filter(one => typeof one?.id === 'string' && typeof one.text === 'string')
    .map(one => ({ ...one, attachments: filesIn(one.attachments) }))

/** Messages unknown to this window belong to another window with the same conversation, and stay. */
export const saveUnsent = (conversation, messages, isKnown) => {
  const others = unsentMessages(conversation).filter(({ id }) => !isKnown(id))
  write(unsentKey(conversation), [...others, ...messages])
}
