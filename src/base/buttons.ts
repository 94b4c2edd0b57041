// Buttons under messages: what platforms accept, and who handles a click.
import type { Button, Click, ClickReply } from './chat.ts'

/** Telegram accepts ids of 64 bytes, Discord five buttons in a row, and longer labels are cut off on phones. */
export const buttonLimits = { id: 64, label: 40, perRow: 5, count: 10 }

/** Under the draft of an answer. */
export const stopButton: Button = { id: 'stop', label: 'Stop' }

/** In rows, as platforms want them. Throws if some platform would refuse them: that is a bug. */
export function buttonRows(buttons: readonly Button[]): readonly (readonly Button[])[] {
  const { id: longest, label, perRow, count } = buttonLimits
  for (const one of buttons)
    if (!new RegExp(`^[\\w.:-]{1,${longest}}$`).test(one.id) || one.label === '' || one.label.length > label)
      throw new RangeError(`the button ${one.id} (${one.label}) is not one that every platform accepts`)
  if (buttons.length > count || new Set(buttons.map(({ id }) => id)).size < buttons.length)
    throw new RangeError(`at most ${count} buttons with different ids`)
  const rows: (readonly Button[])[] = []
  for (let at = 0; at < buttons.length; at += perRow) rows.push(buttons.slice(at, at + perRow))
  return rows
}

/** What the gate says about the person who clicked; null: a stranger. */
export type Clicker = 'owner' | 'guest' | null

export type HandleClick = (click: Click, who: Clicker) => Promise<ClickReply>

export interface Clicks {
  /** Handles the buttons whose ids start with `<prefix>:`. */
  on(prefix: string, handle: HandleClick): void
  readonly clicked: HandleClick
}

/** Everybody who can see a button can click it, and may do so long after its purpose is gone. */
export function createClicks(): Clicks {
  const handlers = new Map<string, HandleClick>()
  return {
    on: (prefix, handle) => void handlers.set(prefix, handle),
    async clicked(click, who) {
      const handle = handlers.get(click.button.split(':', 1)[0] ?? '')
      return handle ? handle(click, who) : { type: 'note', text: 'This button no longer does anything.' }
    },
  }
}
