// WebChat on a page of its own: the part of the address after # is the conversation.
import { mountChat, validName } from './mount.js'

const named = () => {
  const name = location.hash.slice(1)
  return validName.test(name) ? name : null
}

const chat = mountChat(document.getElementById('chat'), {
  where: 'alone',
  address: {
    named,
    of: id => `#${id}`,
    show: id => history.replaceState(null, '', id === null ? location.pathname : `#${id}`),
  },
})

addEventListener('hashchange', () => {
  const id = named()
  if (id !== null) chat.open(id)
})
// The hash names a conversation, so a link to an anchor on the page would not work.
document.getElementById('skip').addEventListener('click', event => {
  event.preventDefault()
  chat.focus()
})
