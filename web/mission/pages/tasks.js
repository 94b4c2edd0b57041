// Tasks: a board of three columns. Cards are moved with the mouse, with Alt and the arrow keys, or from a menu.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { columnOf, placing } from '../board.js'
import { dayName, localDay } from '../format.js'
import { RecordForm } from '../record-form.js'
import { Removed, shortened, useRecords } from '../records.js'
import { useStored } from '../storage.js'
import { Badge, Dialog, Head, html, Loaded, toast } from '../ui.js'

const columns = [
  ['todo', 'To do'],
  ['doing', 'In progress'],
  ['done', 'Done'],
]
const nameOf = status => Object.fromEntries(columns)[status]

export const Page = () => {
  const records = useRecords('/api/tasks', 'tasks.json')
  const board = useBoard(records)
  const [editing, setEditing] = useState(null)
  const [moving, setMoving] = useState(null)
  /** The card being dragged, and where it would be dropped. */
  const [drag, setDrag] = useState(null)
  const cardProps = { board, edit: setEditing, openMenu: setMoving, drag, setDrag }
  return html`
    <${Head} title="Tasks" about="The task board you share with the agent. Stored in tasks.json." />
    <${Removed} records=${records} />
    <p class="unseen" role="status">${board.announcement}</p>
    <p class="unseen" id="how-to-move">Press Alt and an arrow key to move it.</p>
    <${Loaded} answer=${records.answer} rows=${5}>
      ${() => html`
        <div class="board">${columns.map(
          ([status]) =>
            html`<${Column} key=${status} status=${status} tasks=${columnOf(board.tasks, status)} records=${records} ...${cardProps} />`,
        )}</div>`}
    </${Loaded}>
    ${moving && html`<${MoveMenu} task=${board.tasks.find(({ id }) => id === moving.id)} board=${board} onClose=${() => setMoving(null)} />`}
    ${editing && html`<${TaskForm} task=${editing} records=${records} onClose=${() => setEditing(null)} />`}`
}

/** Moves are shown immediately and saved one after the other, so that they cannot overtake each other. */
const useBoard = records => {
  const [optimistic, setOptimistic] = useState({})
  const [announcement, setAnnouncement] = useState('')
  const line = useRef(Promise.resolve())
  /** How many moves of each task are not saved yet. */
  const unsaved = useRef(new Map())
  const focus = useRef(null)
  const tasks = records.items.map(task => ({ ...task, ...optimistic[task.id] }))
  const latest = useRef(records)
  latest.current = records
  // A card in another column is a new element, so it needs the focus again.
  useLayoutEffect(() => {
    if (focus.current === null) return
    document.getElementById(`task-${focus.current}`)?.focus()
    focus.current = null
  })

  const saveMove = async ({ id, change }, was) => {
    try {
      await latest.current.change(id, change, was)
    } catch (problem) {
      const item = problem.answer?.item
      toast(
        problem.status === 409 && item
          ? `Someone else has moved this task to ${nameOf(item.status)}.`
          : problem.message,
        'bad',
      )
    }
    unsaved.current.set(id, unsaved.current.get(id) - 1)
    if (unsaved.current.get(id) === 0) setOptimistic(({ [id]: _, ...others }) => others)
  }
  const move = (id, status, index) => {
    const task = tasks.find(one => one.id === id)
    if (task === undefined) return
    const here = columnOf(tasks, status).filter(one => one.id !== id)
    const to = Math.min(Math.max(index, 0), here.length)
    if (status === task.status && columnOf(tasks, status).indexOf(task) === to) return
    const changes = placing(tasks, task, status, to, Date.now())
    for (const one of changes) {
      unsaved.current.set(one.id, (unsaved.current.get(one.id) ?? 0) + 1)
      setOptimistic(before => ({ ...before, [one.id]: { ...before[one.id], ...one.change } }))
      const was = one.change.status === undefined ? {} : { status: task.status }
      line.current = line.current.then(() => saveMove(one, was))
    }
    focus.current = id
    setAnnouncement(`“${shortened(task.title)}” moved to ${nameOf(status)}, position ${to + 1} of ${here.length + 1}.`)
  }
  /** One step up or down, or to the top of the next column. */
  const step = (task, key) => {
    const place = columns.findIndex(([status]) => status === task.status)
    const index = columnOf(tasks, task.status).indexOf(task)
    if (key === 'ArrowUp') move(task.id, task.status, index - 1)
    if (key === 'ArrowDown') move(task.id, task.status, index + 1)
    const beside = columns[place + (key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : columns.length)]
    if (beside) move(task.id, beside[0], 0)
  }
  return { tasks, announcement, move, step }
}

const Column = ({ status, tasks, records, board, drag, setDrag, ...cards }) => {
  const list = useRef(null)
  const over = event => {
    if (drag === null) return
    event.preventDefault()
    const others = [...list.current.querySelectorAll('.task')].filter(card => card.dataset.id !== drag.task.id)
    const below = others.findIndex(card => {
      const { top, height } = card.getBoundingClientRect()
      return event.clientY < top + height / 2
    })
    const index = below < 0 ? others.length : below
    if (drag.status !== status || drag.index !== index) setDrag({ ...drag, status, index })
  }
  const drop = event => {
    if (drag === null) return
    event.preventDefault()
    setDrag(null)
    board.move(drag.task.id, status, drag.index)
  }
  const left = event => {
    if (drag?.status === status && !event.currentTarget.contains(event.relatedTarget))
      setDrag({ ...drag, status: null })
  }
  // From the position among the other cards to the card it would be dropped before.
  const others = tasks.filter(({ id }) => id !== drag?.task.id)
  const mark = drag?.status === status ? (others[drag.index]?.id ?? 'end') : null
  return html`
    <section class="column ${mark === null ? '' : 'is-over'}" aria-label=${nameOf(status)} onDragOver=${over} onDrop=${drop} onDragLeave=${left}>
      <div class="column-head"><h2 class="column-name">${nameOf(status)}</h2><span class="place">${tasks.length}</span></div>
      <ul class="column-list" ref=${list}>
        ${tasks.map(task => html`<${TaskCard} key=${task.id} task=${task} marked=${mark === task.id} drag=${drag} setDrag=${setDrag} board=${board} ...${cards} />`)}
        ${mark === 'end' && html`<li class="drop-end" aria-hidden="true"></li>`}
      </ul>
      <${QuickAdd} status=${status} records=${records} />
    </section>`
}

const TaskCard = ({ task, marked, drag, setDrag, board, edit, openMenu }) => {
  const { id, title, notes, status, due } = task
  const start = event => {
    event.dataTransfer.effectAllowed = 'move'
    event.dataTransfer.setData('text/plain', title)
    setDrag({ task, status, index: null })
  }
  const key = event => {
    if (!event.altKey || event.ctrlKey || event.metaKey || !event.key.startsWith('Arrow')) return
    event.preventDefault()
    board.step(task, event.key)
  }
  const late = due !== '' && status !== 'done' && due < localDay(Date.now())
  const name = shortened(title)
  return html`
    <li class="task ${marked ? 'is-marked' : ''} ${drag?.task.id === id ? 'is-dragged' : ''}" data-id=${id} draggable="true"
      onDragStart=${start} onDragEnd=${() => setDrag(null)} onKeyDown=${key}>
      <div class="task-head">
        <button type="button" class="task-title" id=${`task-${id}`} aria-describedby="how-to-move" aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown Alt+ArrowLeft Alt+ArrowRight"
          dir="auto" onClick=${() => edit(task)}>${title}</button>
        <button type="button" class="task-move" aria-label=${`Move “${name}”`} title="Move" onClick=${() => openMenu(task)}>
          <svg viewBox="0 0 20 20" aria-hidden="true"><path d="M10 3v14M3 10h14M8 5l2-2 2 2M8 15l2 2 2-2M5 8l-2 2 2 2M15 8l2 2-2 2"/></svg></button>
      </div>
      ${notes && html`<p class="task-notes" dir="auto">${shortened(notes, 160)}</p>`}
      ${due && html`<p class="task-foot"><${Badge} tone=${late ? 'bad' : 'plain'}>${late ? 'overdue' : 'due'} ${dayName(due)}</${Badge}></p>`}
    </li>`
}

const QuickAdd = ({ status, records }) => {
  const [title, setTitle] = useStored(`${records.path}:new:${status}`, '')
  const line = useRef(Promise.resolve())
  const add = async wanted => {
    try {
      await records.add({ title: wanted, status })
    } catch (problem) {
      setTitle(typed => `${wanted} ${typed}`.trim()) // before what has been typed since
      toast(problem.message, 'bad')
    }
  }
  /** The field is cleared immediately, so that the next task can be typed before this one is saved. */
  const submit = event => {
    event.preventDefault()
    const wanted = title.trim()
    if (wanted === '') return
    setTitle('')
    line.current = line.current.then(() => add(wanted))
  }
  return html`
    <form class="quick-add" onSubmit=${submit}>
      <input class="input" aria-label=${`Add task to ${nameOf(status)}`} placeholder="Add task" maxlength="500" autocomplete="off" dir="auto" value=${title}
        onInput=${event => setTitle(event.target.value)} />
      ${title.trim() !== '' && html`<button type="submit" class="button primary">Add</button>`}
    </form>`
}

const MoveMenu = ({ task, board, onClose }) => {
  if (!task) return null
  const column = columnOf(board.tasks, task.status)
  const index = column.indexOf(task)
  const ways = [
    ...columns.filter(([status]) => status !== task.status).map(([status, words]) => [`Move to ${words}`, status, 0]),
    ...(index > 0 ? [['Move up', task.status, index - 1]] : []),
    ...(index > 1 ? [['Move to top', task.status, 0]] : []),
    ...(index < column.length - 1 ? [['Move down', task.status, index + 1]] : []),
    ...(index < column.length - 2 ? [['Move to bottom', task.status, column.length]] : []),
  ]
  const go = (status, to) => {
    onClose()
    board.move(task.id, status, to)
  }
  return html`
    <${Dialog} label=${`Move “${shortened(task.title)}”`} onClose=${onClose}>
      <h2 dir="auto">${shortened(task.title)}</h2>
      <div class="ways">${ways.map(([words, status, to]) => html`<button key=${words} type="button" class="button" onClick=${() => go(status, to)}>${words}</button>`)}</div>
      <div class="acts end"><button type="button" class="button" onClick=${onClose}>Cancel</button></div>
    </${Dialog}>`
}

const fields = [
  { name: 'title', label: 'Task', most: 500, required: true },
  { name: 'notes', label: 'Notes', kind: 'long', most: 10_000 },
  { name: 'status', label: 'Column', kind: 'choice', choices: columns },
  { name: 'due', label: 'Due', kind: 'day' },
]

const TaskForm = ({ task, records, onClose }) => {
  const remove = async () => {
    try {
      onClose()
      await records.remove(task.id, task.title)
    } catch (problem) {
      toast(problem.message, 'bad')
    }
  }
  return html`
    <${RecordForm} title="Edit task" what="task" fields=${fields} records=${records} item=${task} onClose=${onClose}>
      <button type="button" class="button quiet-danger first" onClick=${remove}>Delete</button>
    </${RecordForm}>`
}
