// Browsers that are logged in. Each has a secret of its own in a cookie; the token itself is never in one.

export interface Login {
  readonly id: string
  /** The browser and system that it was opened with, such as `Firefox on Linux`. */
  readonly name: string
  readonly at: number
  readonly usedAt: number
}

export interface LoginsAdmin {
  list(): Promise<readonly Login[]>
  /** An id, or `all`. Resolves with how many were ended. */
  revoke(which: string): Promise<number>
}

export interface Logins extends LoginsAdmin {
  /** The name of the cookie. Cookies go to every port of a host, so each gateway has its own. */
  readonly cookie: string
  /** Resolves with the secret, once the login is on disk. */
  open(name: string): Promise<string>
  /** The id of the login with this secret; null: there is none (any more). */
  check(secret: string): string | null
  onRevoked(listener: (id: string) => void): void
}
