// Tasks: a board of three columns. Cards are moved with the mouse, with Alt and the arrows, or from a menu.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { columnOf, placing } from '../board.js'
import { useKept } from '../kept.js'
import { RecordForm } from '../record-form.js'
import { Removed, shortened, useRecords } from '../records.js'
import { Badge, Dialog, Head, html, Loaded, toast } from '../ui.js'
import { dayName, localDay } from '../words.js'

const columns = [
  ['todo', 'To do'],
  ['doing', 'Doing'],
  ['done', 'Done'],
]
const nameOf = status => Object.fromEntries(columns)[status]

export const Page = () => {
  const records = useRecords('/api/tasks', 'tasks.json')
  const board = useBoard(records)
  const [editing, setEditing] = useState(null)
  const [moving, setMoving] = useState(null)
  /** The card under way, and where it would land. */
  const [drag, setDrag] = useState(null)
  const cardProps = { board, edit: setEditing, openMenu: setMoving, drag, setDrag }
  return html`
    <${Head} title="Tasks" about="The board that you and the agent work from. It is in tasks.json." />
    <${Removed} records=${records} />
    <p class="unseen" role="status">${board.said}</p>
    <p class="unseen" id="how-to-move">Alt and the arrow keys move it.</p>
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

/** Moves are shown at once, and told one after the other: a second may not overtake the first. */
const useBoard = records => {
  const [ahead, setAhead] = useState({})
  const [said, setSaid] = useState('')
  const line = useRef(Promise.resolve())
  /** How many moves of each are not told yet. */
  const owed = useRef(new Map())
  const focus = useRef(null)
  const tasks = records.items.map(task => ({ ...task, ...ahead[task.id] }))
  const latest = useRef(records)
  latest.current = records
  // A card that comes into another column is a new one to the browser.
  useLayoutEffect(() => {
    if (focus.current === null) return
    document.getElementById(`task-${focus.current}`)?.focus()
    focus.current = null
  })

  const told = async ({ id, change }, was) => {
    try {
      await latest.current.change(id, change, was)
    } catch (problem) {
      const item = problem.answer?.item
      toast(
        problem.status === 409 && item ? `Somebody else has moved it to ${nameOf(item.status)}.` : problem.message,
        'bad',
      )
    }
    owed.current.set(id, owed.current.get(id) - 1)
    if (owed.current.get(id) === 0) setAhead(({ [id]: _, ...others }) => others)
  }
  const move = (id, status, index) => {
    const task = tasks.find(one => one.id === id)
    if (task === undefined) return
    const here = columnOf(tasks, status).filter(one => one.id !== id)
    const to = Math.min(Math.max(index, 0), here.length)
    if (status === task.status && columnOf(tasks, status).indexOf(task) === to) return
    const changes = placing(tasks, task, status, to, Date.now())
    for (const one of changes) {
      owed.current.set(one.id, (owed.current.get(one.id) ?? 0) + 1)
      setAhead(before => ({ ...before, [one.id]: { ...before[one.id], ...one.change } }))
      const was = one.change.status === undefined ? {} : { status: task.status }
      line.current = line.current.then(() => told(one, was))
    }
    focus.current = id
    setSaid(`“${shortened(task.title)}” is now in ${nameOf(status)}, ${to + 1} of ${here.length + 1}.`)
  }
  /** One step up, down, or into the column beside, to its top. */
  const step = (task, key) => {
    const place = columns.findIndex(([status]) => status === task.status)
    const index = columnOf(tasks, task.status).indexOf(task)
    if (key === 'ArrowUp') move(task.id, task.status, index - 1)
    if (key === 'ArrowDown') move(task.id, task.status, index + 1)
    const beside = columns[place + (key === 'ArrowLeft' ? -1 : key === 'ArrowRight' ? 1 : columns.length)]
    if (beside) move(task.id, beside[0], 0)
  }
  return { tasks, said, move, step }
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
  // The place among the cards without the one under way, as a place among all.
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
      ${due && html`<p class="task-foot"><${Badge} tone=${late ? 'bad' : 'plain'}>${late ? 'was due' : 'due'} ${dayName(due)}</${Badge}></p>`}
    </li>`
}

const QuickAdd = ({ status, records }) => {
  const [title, setTitle] = useKept(`${records.path}:new:${status}`, '')
  const line = useRef(Promise.resolve())
  const add = async wanted => {
    try {
      await records.add({ title: wanted, status })
    } catch (problem) {
      setTitle(typed => `${wanted} ${typed}`.trim()) // before what is typed by now
      toast(problem.message, 'bad')
    }
  }
  /** The field is free at once: the next one may be typed before this one is there. */
  const submit = event => {
    event.preventDefault()
    const wanted = title.trim()
    if (wanted === '') return
    setTitle('')
    line.current = line.current.then(() => add(wanted))
  }
  return html`
    <form class="quick-add" onSubmit=${submit}>
      <input class="input" aria-label=${`Add a task to ${nameOf(status)}`} placeholder="Add a task" maxlength="500" autocomplete="off" dir="auto" value=${title}
        onInput=${event => setTitle(event.target.value)} />
      ${title.trim() !== '' && html`<button type="submit" class="button primary">Add</button>`}
    </form>`
}

const MoveMenu = ({ task, board, onClose }) => {
  if (!task) return null
  const column = columnOf(board.tasks, task.status)
  const index = column.indexOf(task)
  const ways = [
    ...columns.filter(([status]) => status !== task.status).map(([status, words]) => [`To ${words}`, status, 0]),
    ...(index > 0 ? [['Up', task.status, index - 1]] : []),
    ...(index > 1 ? [['To the top', task.status, 0]] : []),
    ...(index < column.length - 1 ? [['Down', task.status, index + 1]] : []),
    ...(index < column.length - 2 ? [['To the bottom', task.status, column.length]] : []),
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
    <${RecordForm} title="Edit the task" what="task" fields=${fields} records=${records} item=${task} onClose=${onClose}>
      <button type="button" class="button quiet-danger first" onClick=${remove}>Remove</button>
    </${RecordForm}>`
}
