// What the Bot API answers when it refuses.

export class Refusal extends Error {
  readonly code: number
  readonly parameters: Readonly<Record<string, number>>
  constructor(code: number, description: string, parameters: Readonly<Record<string, number>> = {}) {
    super(description)
    this.code = code
    this.parameters = parameters
  }
}

const kinds: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  429: 'Too Many Requests',
}

export const bodyOf = ({ code, message, parameters }: Refusal): object => ({
  ok: false,
  error_code: code,
  description: message === '' ? (kinds[code] ?? 'Error') : `${kinds[code] ?? 'Error'}: ${message}`,
  ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
})

export const bad = (description: string): Refusal => new Refusal(400, description)
