// The files that came with a message: a line of ours for each.
import type { Attachment } from '../base/event.ts'
import { label } from '../base/label.ts'

/** `[Attached: files/in/1234/plan.pdf (application/pdf, 12 kB)]` */
export const attachedLine = ({ name, path, bytes, type, missing }: Attachment): string =>
  missing === undefined
    ? `[Attached: ${path} (${label(type)}, ${size(bytes)})]`
    : `[Attached: ${label(name, 100)} (${size(bytes)}), but not to be had: ${missing}]`

const size = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}
