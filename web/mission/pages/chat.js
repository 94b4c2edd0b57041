// The chat as a page of Mission Control, with the conversation in the address: `#/chat?conversation=ID`.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { mountChat, validName } from '../../chat/mount.js'
import { addressOf, readAddress } from '../address.js'
import { connect, onConnection, useEntries } from '../live.js'
import { html } from '../ui.js'

const named = () => {
  const { page, query } = readAddress()
  const name = page === 'chat' ? query.get('conversation') : null
  return name !== null && validName.test(name) ? name : null
}

/** Keeps the other parameters, such as the open event. */
const addressWith = id => {
  const { query } = readAddress()
  if (id === null) query.delete('conversation')
  else query.set('conversation', id)
  return addressOf('chat', query)
}

export const Page = () => {
  const place = useRef(null)
  const mounted = useRef(null)
  useEntries(({ lane }) => lane?.startsWith('webchat:') && mounted.current?.refresh())
  useLayoutEffect(() => {
    const chat = mountChat(place.current, {
      where: 'within',
      address: {
        named,
        of: id => addressOf('chat', new URLSearchParams({ conversation: id })),
        show(id) {
          if (readAddress().page === 'chat') history.replaceState(null, '', addressWith(id)) // otherwise the page is being left
        },
      },
      tryNow: connect,
    })
    const moved = () => {
      const { page } = readAddress()
      if (page !== 'chat') return // the page is being left
      const id = named()
      if (id === null) chat.showAddress()
      else chat.open(id)
    }
    addEventListener('hashchange', moved)
    mounted.current = chat
    const unfollow = onConnection(({ reconnected }) => reconnected && chat.refresh())
    return () => {
      mounted.current = null
      unfollow()
      removeEventListener('hashchange', moved)
      chat.leave()
    }
  }, [])
  return html`<div ref=${place}></div>`
}
