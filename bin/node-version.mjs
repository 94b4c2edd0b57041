// Refuses to run on a Node that is too old, in words instead of a syntax error.

/** The oldest one that comes with Aetheel. */
const oldest = [24, 18]

/** Why this version cannot be used; null: it can. */
export function nodeProblem(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return null
  return `Aetheel needs Node ${oldest.join('.')} or newer; this is ${version}. npm installs one along with it where there is one: not on Macs with Apple silicon, where you have to install a current Node 24 yourself.`
}
