// A deliberate fault: one line of the product, changed.

export interface Fault {
  /** Below `src/`. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly put: string
  /** The test that must fail; without it, the crash campaign must notice. `name` is part of the test's full name. */
  readonly noticedBy?: { readonly test: string; readonly name: string }
}
