// Clients that say what no decent one would: any header, any path, any bytes, and as slowly as they like.
import { Agent, request as openRequest } from 'node:http'
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Question {
  readonly method?: string
  /** As it goes over the wire. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

const agent = new Agent({ keepAlive: false, maxSockets: 40 })

/** Status 0: there was no answer. */
export const ask = (url: string, { method = 'GET', path, headers = {}, body }: Question): Promise<Answer> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(url)
    // Left alone, Node would say how long it is for some methods only.
    const sized =
      body === undefined || 'Transfer-Encoding' in headers ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const request = openRequest({
      agent,
      hostname,
      port,
      method,
      path,
      headers: { ...sized, ...headers },
      setHost: !('Host' in headers),
    })
    request.on('error', error => resolve({ status: 0, headers: {}, text: String(error) }))
    request.on('response', response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
        // A stream that does not end has said enough.
        if (response.headers['content-type']?.startsWith('text/event-stream')) request.destroy()
      })
      response.on('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.end(body)
  })

export const dial = (url: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => resolve(socket))
    socket.on('error', reject) // later ones are for whoever listens to `close`
  })

/** Everything that comes back until the other side closes, or the time is over. */
export const say = async (url: string, bytes: string | Buffer, ms = 3000): Promise<string> => {
  const socket = await dial(url)
  return new Promise(resolve => {
    let text = ''
    const end = () => {
      socket.destroy()
      resolve(text)
    }
    const timer = setTimeout(end, ms)
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => {
      clearTimeout(timer)
      end()
    })
    socket.write(bytes)
  })
}
