// Where a guest's turn may write.

const unfit = /[^A-Za-z0-9_-]/g

/** The folder of a guest, relative to the workspace. Different people have different folders; null: nobody in particular. */
export function guestFolder(person: string | null): string | null {
  if (person === null || person === '') return null
  const name = person.replace(unfit, '_').slice(0, 64)
  return name === person ? `guests/${name}` : `guests/${name}~${checksum(person)}`
}

/** Tells apart names that look the same once cleaned; a name without a `~` never looks like one with it. */
function checksum(text: string): string {
  let [a, b] = [0x811c9dc5, 0x1b873593]
  for (const byte of new TextEncoder().encode(text)) {
    a = Math.imul(a ^ byte, 0x01000193)
    b = Math.imul(b ^ byte, 0x85ebca6b)
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`
}
