// A connection to a page or a program, as far as a chat needs to know it.

export interface Socket {
  send(text: string): void
  /** Resolves when the other side has answered a ping sent now, so that it has everything sent before. False: it is gone. */
  reached(): Promise<boolean>
  onText(listener: (text: string) => void): void
  onClose(listener: () => void): void
  close(code: number, reason: string): void
}
