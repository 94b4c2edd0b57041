// The chat alone on its page: the conversation is what the address has after its #.
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
// What stands after the # names a conversation, so that it cannot name a place on the page.
document.getElementById('skip').addEventListener('click', event => {
  event.preventDefault()
  chat.focus()
})
