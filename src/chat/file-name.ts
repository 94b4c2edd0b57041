// Safe names for files that come from outside.

/** A name without path, special characters or leading dots, valid on every system. */
export function safeName(given: string): string {
  const plain = given
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._ -]/gu, '_')
    .replace(/\s+/g, ' ')
  const [, stem = '', ending = ''] = /^(.*?)(\.[^.]{1,10})?$/su.exec(plain) ?? []
  const short = [...stem.replace(/^[. ]+/, '')]
    .slice(0, 50)
    .join('')
    .replace(/[. ]+$/, '')
  const tail = ending.replace(/[ .]+$/, '')
  return short === '' ? `file${tail}` : `${short}${tail}`
}
