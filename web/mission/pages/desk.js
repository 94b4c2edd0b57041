// A list of things on the left and the open one on the right; where there is no room, one after the other.
import { useEffect, useRef } from 'preact/hooks'
import { isNarrow } from '../spot.js'
import { html } from '../ui.js'

/** @param {{ label: string, list: any, chosen?: string, back: string, backWords: string, children: any }} props */
export const Desk = ({ label, list, chosen, back, backWords, children }) => {
  const pane = useRef(null)
  const before = useRef(chosen)
  useEffect(() => {
    // The link that was pressed is not to be seen any more.
    if (chosen !== before.current && isNarrow())
      (chosen === undefined ? document.querySelector('#page h1') : pane.current.querySelector('.back'))?.focus()
    before.current = chosen
  }, [chosen])
  return html`
    <div class="desk" data-open=${chosen === undefined ? 'list' : 'pane'}>
      <nav class="desk-list" aria-label=${label}><ul>${list}</ul></nav>
      <div class="desk-pane" ref=${pane}><a class="back more-link" href=${back}>‹ ${backWords}</a>${children}</div>
    </div>`
}

/** @param {{ href: string, isOpen: boolean, title: string, about?: string, aside?: any, marks?: any }} props */
export const Choice = ({ href, isOpen, title, about, aside, marks }) => html`
  <li><a class="choice" href=${href} aria-current=${isOpen ? 'true' : undefined}>
    <span class="choice-head"><span class="choice-title">${title}</span>${marks}${aside && html`<span class="choice-aside">${aside}</span>`}</span>
    ${about && html`<span class="choice-about" dir="auto">${about}</span>`}
  </a></li>`
