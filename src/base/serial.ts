// A promise mutex: work runs one at a time, each after the previous one has ended, whether it succeeded or failed.

export type Serial = <T>(work: () => Promise<T>) => Promise<T>

export function createSerial(): Serial {
  let last: Promise<void> = Promise.resolve()
  return work => {
    const mine = last.then(work)
    // Neither the result nor the error is kept: the next one only needs to know that this one has ended.
    last = mine.then(nothing, nothing)
    return mine
  }
}

const nothing = (): void => undefined
