// The frame around the pages: navigation, its drawer on narrow screens, and what is known of the line.

const byId = id => document.getElementById(id)

/** @param {{ retry: () => void }} options */
export const openFrame = ({ retry }) => {
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
  // The address names the page, so that it cannot name a place in it.
  byId('skip').addEventListener('click', event => {
    event.preventDefault()
    byId('main').focus()
  })
  byId('try-now').addEventListener('click', retry)

  let timer = 0
  let lostBefore = false
  const showLine = ({ type, retryAt }) => {
    // While it is tried again all stays as it is: it would flicker, and be read out with each try.
    if (type === 'connecting' && lostBefore) return
    clearInterval(timer)
    lostBefore = type === 'offline' || type === 'locked'
    document.body.dataset.line = type
    const connection = byId('connection')
    if (connection.textContent !== lineWords[type]) connection.textContent = lineWords[type]
    byId('banner').hidden = !lostBefore
    if (!lostBefore) return
    const draw = () => {
      const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000))
      byId('banner-text').textContent =
        type === 'locked'
          ? 'The link has changed. Open the one that “npx aetheel status” prints.'
          : `The line to the gateway is lost; what you see is from before. Trying again in ${seconds} s.`
    }
    draw()
    timer = setInterval(draw, 1000)
  }

  return {
    showLine,
    showPage(page, title) {
      document.title = `${title} · Aetheel`
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

const lineWords = { connecting: 'connecting', open: 'connected', offline: 'not connected', locked: 'locked' }
