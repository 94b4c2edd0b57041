// Misbehaving clients: any header, any path, any bytes, at any speed.
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

/** Status 0: there was no response. */
export const ask = (url: string, { method = 'GET', path, headers = {}, body }: Question): Promise<Answer> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(url)
    // By default, Node sends the length only for some methods.
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
        // Enough of an endless stream.
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

/** Everything received until the server closes or the time is up. */
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
