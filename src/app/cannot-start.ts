// The error for a gateway that cannot start: why, and what to do about it.

/** The message is shown to people. */
export class CannotStart extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CannotStart'
  }
}

export function cannot(error: unknown): never {
  throw error instanceof CannotStart ? error : cannotStart(error)
}

export const cannotStart = (error: unknown) =>
  new CannotStart(error instanceof Error ? error.message : String(error), { cause: error })
