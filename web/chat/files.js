// How files are shown: images as thumbnails, everything else by name. The gateway serves them so that nothing in them can run.
import { el } from './dom.js'

const picture = /\.(?:png|jpe?g|gif|webp|avif)$/i

/** @param {string} conversation @param {string} id */
export const uploadLink = (conversation, id) => `/api/attachments?${new URLSearchParams({ conversation, id })}`
/** @param {string} path a file of the workspace */
export const workspaceLink = path => `/api/attachments?${new URLSearchParams({ file: path })}`

/** @param {{ name: string, bytes?: number, href: string | null }[]} files */
export const fileList = files =>
  el('ul', { class: 'files', 'aria-label': 'Files' }, ...files.map(file => el('li', {}, fileView(file))))

export const fileView = ({ name, bytes, href }) => {
  const size = bytes === undefined ? [] : [el('span', { class: 'size' }, sizeOf(bytes))]
  if (href === null) return el('span', { class: 'file' }, el('bdi', {}, name), ...size)
  const chip = () => el('a', { class: 'file', href, download: name }, el('bdi', {}, name), ...size)
  if (!picture.test(name)) return chip()
  const image = el('img', { src: href, alt: name, loading: 'lazy', decoding: 'async' })
  const link = el('a', { class: 'picture', href, target: '_blank', rel: 'noopener', title: name }, image)
  image.addEventListener('error', () => link.replaceWith(chip()), { once: true }) // not an image, or gone
  return link
}

/** With the same units as the limits: 25 MB is 25 × 1024 kB. */
export const sizeOf = bytes => {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} kB`
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`
}

export const nameIn = path => path.slice(path.lastIndexOf('/') + 1)
