// Files that pass through WebChat: what people attach, and what agents send along.

/** A file that was taken and waits to be sent with a message. */
export interface Uploaded {
  readonly id: string
  readonly name: string
  readonly bytes: number
  readonly type: string
}

export interface Upload {
  readonly conversation: string
  /** As it was given; it is stored under a safe one. */
  readonly name: string
  readonly type: string
  readonly body: AsyncIterable<Uint8Array>
}

/** Which files were attached, and to which message each belongs. */
export interface UploadBook {
  add(conversation: string, upload: Uploaded): Promise<void>
  find(conversation: string, id: string): Uploaded | null
  knows(id: string): boolean
  /** From now on they belong to that event, unless they belong to another that is kept; and are as good as new, as it is not there yet. */
  claim(ids: readonly string[], eventKey: string): Promise<void>
  /** Those from before `cutoff` whose message was never sent, or is kept no longer. */
  forgotten(cutoff: number): readonly string[]
  remove(id: string): Promise<void>
}

/** A file that is handed out. */
export interface Download {
  readonly name: string
  readonly bytes: number
  content(): AsyncIterable<Uint8Array>
}

export interface AttachmentsDesk {
  /** Resolves once it is on disk. Rejects when the other side breaks off. */
  take(upload: Upload): Promise<Uploaded | 'too-large' | 'no-room'>
  /** Null: there is no such file (any more). */
  uploaded(conversation: string, id: string): Promise<Download | null>
  /** A file of the workspace that an answer links to. Null: it is not there, or may not leave. */
  sent(path: string): Promise<Download | null>
}

/** For one message, and of each. */
export const mostAttachments = 10
export const mostAttachmentBytes = 25 * 1024 * 1024
export const attachmentId = /^[A-Za-z0-9-]{1,64}$/
