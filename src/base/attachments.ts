// Files in WebChat: what people attach, and what agents send.

/** A file that was uploaded and waits to be sent with a message. */
export interface Uploaded {
  readonly id: string
  readonly name: string
  readonly bytes: number
  readonly type: string
}

export interface Upload {
  readonly conversation: string
  /** As the client sent it; the file is stored under a safe name. */
  readonly name: string
  readonly type: string
  readonly body: AsyncIterable<Uint8Array>
}

/** Which files were uploaded, and which message each belongs to. */
export interface UploadStore {
  add(conversation: string, upload: Uploaded): Promise<void>
  find(conversation: string, id: string): Uploaded | null
  knows(id: string): boolean
  /**
   * Assigns the files to that event, unless they belong to another event that is still stored. Their age starts over, since the event
   * is not stored yet.
   */
  claim(ids: readonly string[], eventKey: string): Promise<void>
  /** Files from before `cutoff` whose message was never sent or is no longer stored. */
  forgotten(cutoff: number): readonly string[]
  remove(id: string): Promise<void>
}

/** A file that can be downloaded. */
export interface Download {
  readonly name: string
  readonly bytes: number
  content(): AsyncIterable<Uint8Array>
}

export interface AttachmentsAdmin {
  /** Resolves once the file is on disk. Rejects when the client disconnects. */
  take(upload: Upload): Promise<Uploaded | 'too-large' | 'no-room'>
  /** Null: there is no such file (any more). */
  uploaded(conversation: string, id: string): Promise<Download | null>
  /** A workspace file that an answer links to. Null: it does not exist, or may not be sent. */
  sent(path: string): Promise<Download | null>
}

/** Limits: files per message, and bytes per file. */
export const mostAttachments = 10
export const mostAttachmentBytes = 25 * 1024 * 1024
export const attachmentId = /^[A-Za-z0-9-]{1,64}$/
