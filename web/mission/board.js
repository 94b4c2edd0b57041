// The order of the tasks in a column, and what must change so that one stands at a certain place in it.

/** Without an order of its own a task stands where it was made. */
const orderOf = ({ order, createdAt }) => order ?? (Date.parse(createdAt) || 0)

/** The tasks of a column from top to bottom; of two with the same order the one that is first in the file. */
export const columnOf = (tasks, status) =>
  tasks.filter(task => task.status === status).sort((a, b) => orderOf(a) - orderOf(b))

/**
 * The changes that bring `task` to `index` of the column, counted without it. Mostly it is one: an order between its neighbours.
 * Where there is no number left between them, the column is numbered anew.
 * @returns {{ id: string, change: { status?: string, order?: number } }[]}
 */
export const placing = (tasks, task, status, index, now) => {
  const others = columnOf(tasks, status).filter(({ id }) => id !== task.id)
  const move = task.status === status ? {} : { status }
  const order = between(others[index - 1], others[index], now)
  if (order !== null) return [{ id: task.id, change: { ...move, order } }]
  const all = others.toSpliced(index, 0, task)
  const last = Math.max(...all.map(orderOf))
  return all.map(({ id }, place) => ({
    id,
    change: { ...(id === task.id ? move : {}), order: last - (all.length - 1 - place) * 1000 },
  }))
}

/** Null: there is no number between the two. At the end it is not after what is made from now on. */
const between = (before, after, now) => {
  if (before === undefined && after === undefined) return now
  if (before === undefined) return orderOf(after) - 1000
  if (after === undefined) return Math.max(orderOf(before) + 1, now)
  const [low, high] = [orderOf(before), orderOf(after)]
  const middle = (low + high) / 2
  return low < middle && middle < high ? middle : null
}
