// What this browser keeps: its recent chats, and messages the gateway has not yet accepted.

const recentKey = 'aetheel.recent'
const unsentKey = conversation => `aetheel.unsent.${conversation}`
const longestList = 20

const read = key => {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(value) ? value : []
  } catch {
    return [] // storage is forbidden or someone else wrote there
  }
}

const write = (key, list) => {
  try {
    if (list.length === 0) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(list))
  } catch {
    // forbidden or full: the page works without it
  }
}

/** Newest first. */
export const recentChats = () => read(recentKey).filter(chat => typeof chat?.id === 'string')

export const rememberChat = (id, title) => {
  const known = recentChats().find(chat => chat.id === id)
  const others = recentChats().filter(chat => chat.id !== id)
  const short = title.replaceAll(/\s+/g, ' ').trim().slice(0, 60)
  write(recentKey, [{ id, title: known?.title || short, at: Date.now() }, ...others].slice(0, longestList))
}

export const forgetChat = id => {
  write(
    recentKey,
    recentChats().filter(chat => chat.id !== id),
  )
  write(unsentKey(id), [])
}

export const unsentMessages = conversation =>
  read(unsentKey(conversation)).filter(one => typeof one?.id === 'string' && typeof one.text === 'string')

/** What is not known here belongs to another window with the same conversation, and stays. */
export const keepUnsent = (conversation, messages, isKnown) => {
  const others = unsentMessages(conversation).filter(({ id }) => !isKnown(id))
  write(unsentKey(conversation), [...others, ...messages])
}
