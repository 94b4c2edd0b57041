// How the processor time of a function grows with its input; independent of the load of the machine.

const times = 8
/** Eight times the input may cost 24 times as much: linear is 8, quadratic 64. */
const most = 24
/** Below this it is noise. */
const noiseMs = 20

/**
 * Why it grows faster than linearly from an eighth of `size` to `size`; null: it does not. The best of several tries counts, because
 * other processes may have slowed down some of them.
 */
export async function worseThanLinear(work: (size: number) => unknown, size: number): Promise<string | null> {
  let best = Infinity
  for (let tries = 0; tries < 5; tries++) {
    const small = await costOf(work, Math.ceil(size / times))
    const large = await costOf(work, size)
    if (large < noiseMs) return null
    best = Math.min(best, large / Math.max(small, noiseMs / times))
    if (best <= most) return null
  }
  return `${times} times as much to do costs ${best.toFixed(0)} times as much`
}

async function costOf(work: (size: number) => unknown, size: number): Promise<number> {
  const before = process.cpuUsage()
  await work(size)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
