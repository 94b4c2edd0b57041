// Which addresses are Slack's own.

const domains = ['slack.com', 'slack-files.com', 'slack-edge.com']

/** Slack itself, or the host of a compatible server. Our token goes there, and nowhere else. */
export function isSlacks(url: string, api: string): boolean {
  const target = URL.parse(url)
  const home = URL.parse(api)
  if (!target || !home) return false
  if (target.origin === home.origin) return true
  // A compatible server may use another port, but never HTTP if its API uses HTTPS.
  const safe = target.protocol === 'https:' || home.protocol === 'http:'
  if (target.hostname === home.hostname) return safe
  const isHere = domains.some(one => home.hostname === one || home.hostname.endsWith(`.${one}`))
  return (
    isHere &&
    target.protocol === 'https:' &&
    target.port === '' &&
    domains.some(one => target.hostname === one || target.hostname.endsWith(`.${one}`))
  )
}
