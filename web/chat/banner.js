// What is known of the line: a word beside the title, and a banner while it is lost.

const words = { connecting: 'connecting', open: 'connected', offline: 'not connected', locked: 'locked' }

/** @param {{ place: HTMLElement, part: (name: string) => HTMLElement, retry: () => void }} options @param {AbortSignal} signal */
export const openBanner = ({ place, part, retry }, signal) => {
  let state = { type: 'connecting', retryAt: 0 }

  const draw = () => {
    const { type, retryAt } = state
    const connection = part('connection')
    place.dataset.line = type
    if (connection.textContent !== words[type]) connection.textContent = words[type]
    part('banner').hidden = type !== 'offline' && type !== 'locked'
    if (type === 'locked') {
      part('banner-text').textContent =
        'The link of this browser is no longer valid. “npx aetheel status”, in the folder where Aetheel was started, prints the new one.'
    } else if (type === 'offline') {
      const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000))
      part('banner-text').textContent =
        `The gateway cannot be reached. Next try in ${seconds} s; what you write is kept and sent then.`
    }
  }
  const ticking = setInterval(() => state.type === 'offline' && draw(), 1000)
  signal.addEventListener('abort', () => clearInterval(ticking))
  part('try-now').addEventListener('click', retry)

  return {
    /** @param {{ type: string, retryAt: number }} next */
    show(next) {
      // While it is tried again all stays as it is: it would flicker, and be read out with each try.
      if (next.type === 'connecting' && (state.type === 'offline' || state.type === 'locked')) return
      state = next
      draw()
    },
  }
}
