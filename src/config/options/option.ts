// What an option is, and what a block is: the options of one section and the rules between them.
import type { Kind } from '../kinds.ts'

export interface Option<T> {
  readonly env: string
  /** Without the dashes. */
  readonly flag?: string
  readonly kind: Kind<T>
  /** Null: not set. A function: computed on this machine. */
  readonly default: NoInfer<T> | (() => NoInfer<T>)
  readonly description: string
  readonly secret?: true
  /** Cannot be set in config.json. */
  readonly outsideFile?: true
  /** Finding the default takes so long that it is looked up only when needed: the first use of a time zone takes 13 ms. */
  readonly lazy?: true
  /** An invalid value logs a warning and the default is used, instead of refusing to start. */
  readonly lenient?: true
  /** A change while the gateway runs takes effect with the next turn. */
  readonly live?: true
}

export type ValuesOf<Options> = {
  readonly [Key in keyof Options]: Options[Key] extends Option<infer T> ? T : never
}

/** The result of a rule: a mistake in an option, or a warning. */
export type Finding<Key> = { readonly key: Key; readonly why: string } | { readonly warning: string }

export interface Context<Key> {
  isSet(key: Key): boolean
  /** Whether the backend must never get this variable. */
  isPrivate(variable: string): boolean
}

export interface Block<Options> {
  readonly options: Options
  /** The rules between the options of this block. */
  check(values: ValuesOf<Options>, context: Context<keyof Options>): readonly Finding<keyof Options>[]
}

/** Options are listed by their path in config.json, with at most one dot. */
export function block<Options>(options: Options, check: Block<Options>['check'] = () => []): Block<Options> {
  return { options, check }
}

export function option<T>(row: Option<T>): Option<T> {
  return row
}

/** An option without a default. */
export function optional<T>(row: Omit<Option<T>, 'default'>): Option<T | null> {
  return { ...row, default: null }
}
