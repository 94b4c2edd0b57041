// The order of tasks in a column, and the changes that move a task to a certain place.

/** A task without an explicit order is sorted by its creation time. */
const orderOf = ({ order, createdAt }) => order ?? (Date.parse(createdAt) || 0)

/** The tasks of a column from top to bottom; ties are broken by their order in the file. */
export const columnOf = (tasks, status) =>
  tasks.filter(task => task.status === status).sort((a, b) => orderOf(a) - orderOf(b))

/**
 * The changes that move `task` to `index` of the column (not counting itself). Usually one: an order between its neighbours.
 * If there is no number left between them, the whole column is renumbered.
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

/** Null: there is no number between the two. At the end of the column, the order stays before tasks created later. */
const between = (before, after, now) => {
  if (before === undefined && after === undefined) return now
  if (before === undefined) return orderOf(after) - 1000
  if (after === undefined) return Math.max(orderOf(before) + 1, now)
  const [low, high] = [orderOf(before), orderOf(after)]
  const middle = (low + high) / 2
  return low < middle && middle < high ? middle : null
}
