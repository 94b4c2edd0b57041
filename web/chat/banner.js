// The state of the connection: a label beside the title, and a banner while disconnected.

const labels = { connecting: 'connecting', open: 'connected', offline: 'disconnected', locked: 'locked' }

/** @param {{ place: HTMLElement, part: (name: string) => HTMLElement, retry: () => void }} options @param {AbortSignal} signal */
export const createBanner = ({ place, part, retry }, signal) => {
  let state = { type: 'connecting', retryAt: 0 }

  const draw = () => {
    const { type, retryAt } = state
    const connection = part('connection')
    place.dataset.connection = type
    if (connection.textContent !== labels[type]) connection.textContent = labels[type]
    part('banner').hidden = type !== 'offline' && type !== 'locked'
    if (type === 'locked') {
      part('banner-text').textContent =
        'This browser’s link is no longer valid. Run “npx aetheel status” in the folder where Aetheel was started to get the new one.'
    } else if (type === 'offline') {
      const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000))
      part('banner-text').textContent =
        `Cannot reach the gateway. Retrying in ${seconds} s. Messages you write now are sent once it is back.`
    }
  }
  const ticking = setInterval(() => state.type === 'offline' && draw(), 1000)
  signal.addEventListener('abort', () => clearInterval(ticking))
  part('try-now').addEventListener('click', retry)

  return {
    /** @param {{ type: string, retryAt: number }} next */
    show(next) {
      // Nothing changes during a retry: it would flicker, and screen readers would announce every attempt.
      if (next.type === 'connecting' && (state.type === 'offline' || state.type === 'locked')) return
      state = next
      draw()
    },
  }
}
