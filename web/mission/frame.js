// The frame around the pages: the navigation, its drawer on narrow screens, and the state of the connection.

const byId = id => document.getElementById(id)

/** @param {{ retry: () => void }} options */
export const createFrame = ({ retry }) => {
  const nav = byId('nav')
  const menu = byId('menu')
  const shade = byId('shade')
  const linkTo = page => nav.querySelector(`a[href="#/${page}"]`)

  const setDrawer = shown => {
    nav.classList.toggle('shown', shown)
    shade.hidden = !shown
    menu.setAttribute('aria-expanded', String(shown))
    byId('main').inert = shown
    if (shown) (nav.querySelector('[aria-current]') ?? nav.querySelector('a')).focus()
  }
  menu.addEventListener('click', () => setDrawer(!nav.classList.contains('shown')))
  shade.addEventListener('click', () => setDrawer(false))
  nav.addEventListener('click', event => {
    if (event.target.closest('a')) setDrawer(false)
  })
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !nav.classList.contains('shown')) return
    setDrawer(false)
    menu.focus()
  })
  matchMedia('(width > 820px)').addEventListener('change', () => setDrawer(false))
  // The hash names the page, so a link to an anchor on it would not work.
  byId('skip').addEventListener('click', event => {
    event.preventDefault()
    byId('main').focus()
  })
  byId('try-now').addEventListener('click', retry)

  let timer = 0
  let isLost = false
  const showConnection = ({ type, retryAt }) => {
    // Nothing changes during a retry: it would flicker, and screen readers would announce every attempt.
    if (type === 'connecting' && isLost) return
    clearInterval(timer)
    isLost = type === 'offline' || type === 'locked'
    document.body.dataset.connection = type
    const connection = byId('connection')
    if (connection.textContent !== connectionLabels[type]) connection.textContent = connectionLabels[type]
    byId('banner').hidden = !isLost
    if (!isLost) return
    const draw = () => {
      const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000))
      byId('banner-text').textContent =
        type === 'locked'
          ? 'The link has changed. Run “npx aetheel status” to get the new one.'
          : `Disconnected from the gateway. This page may be out of date. Retrying in ${seconds} s.`
    }
    draw()
    timer = setInterval(draw, 1000)
  }

  /** Before the title and in front of the name of the page: how many requests are open. */
  let openRequests = 0
  let pageTitle = ''
  const setTitle = () => {
    // The chat marks the title while the window is hidden.
    const mark = document.title.startsWith('● ') ? '● ' : ''
    document.title = `${mark}${openRequests > 0 ? `(${openRequests}) ` : ''}${pageTitle} · Aetheel`
  }

  return {
    showConnection,
    showRequests({ open }) {
      openRequests = open
      setTitle()
      for (const place of [byId('nav-asks'), byId('bar-asks')]) place.hidden = open === 0
      for (const place of document.querySelectorAll('.asks-count')) place.textContent = String(open)
    },
    showPage(page, title) {
      pageTitle = title
      setTitle()
      setDrawer(false)
      for (const link of nav.querySelectorAll('[aria-current]')) link.removeAttribute('aria-current')
      linkTo(page)?.setAttribute('aria-current', 'page')
      linkTo(page)?.scrollIntoView({ block: 'nearest' })
      byId('main').scrollTo(0, 0)
    },
    reveal(page) {
      linkTo(page).closest('li').hidden = false
    },
  }
}

const connectionLabels = { connecting: 'connecting', open: 'connected', offline: 'disconnected', locked: 'locked' }
