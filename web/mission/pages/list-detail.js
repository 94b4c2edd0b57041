// A list on the left and the open item on the right; on narrow screens one of them at a time.
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../ui.js'

const isNarrow = () => matchMedia('(width <= 820px)').matches

/** @param {{ label: string, list: any, chosen?: string, back: string, backLabel: string, children: any }} props */
export const ListDetail = ({ label, list, chosen, back, backLabel, children }) => {
  const pane = useRef(null)
  const before = useRef(chosen)
  useEffect(() => {
    // The link that was clicked is no longer visible.
    if (chosen !== before.current && isNarrow())
      (chosen === undefined ? document.querySelector('#page h1') : pane.current.querySelector('.back'))?.focus()
    before.current = chosen
  }, [chosen])
  return html`
    <div class="list-detail" data-open=${chosen === undefined ? 'list' : 'pane'}>
      <nav class="list-detail-list" aria-label=${label}><ul>${list}</ul></nav>
      <div class="list-detail-pane" ref=${pane}><a class="back more-link" href=${back}>‹ ${backLabel}</a>${children}</div>
    </div>`
}

/** @param {{ href: string, isOpen: boolean, title: string, about?: string, aside?: any, marks?: any }} props */
export const Choice = ({ href, isOpen, title, about, aside, marks }) => html`
  <li><a class="choice" href=${href} aria-current=${isOpen ? 'true' : undefined}>
    <span class="choice-head"><span class="choice-title">${title}</span>${marks}${aside && html`<span class="choice-aside">${aside}</span>`}</span>
    ${about && html`<span class="choice-about" dir="auto">${about}</span>`}
  </a></li>`
