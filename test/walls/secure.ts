// The model under a name and with TLS, as the real services are. Only a proxy that resolves the name leads there.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'

const name = 'model.example'

export async function openSecure(model: string, dir: string) {
  const at = (file: string) => join(dir, file)
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  // Some clients refuse a certificate that vouches for itself.
  openssl('req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=Test', '-keyout', at('ca.key'), '-out', at('ca.pem'))
  openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', at('key.pem'), '-out', at('request.pem'))
  writeFileSync(at('extensions'), `subjectAltName=DNS:${name}\n`)
  openssl(
    ...['x509', '-req', '-in', at('request.pem'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-set_serial', '1'],
    ...['-days', '2', '-extfile', at('extensions'), '-out', at('cert.pem')],
  )
  const [key, cert, ca] = [at('key.pem'), at('cert.pem'), at('ca.pem')]
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, near => {
    const far = connect(Number(new URL(model).port), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const)
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to)
  })
  server.on('tlsClientError', () => undefined)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://${name}:${(server.address() as AddressInfo).port}`,
    environment: { NODE_EXTRA_CA_CERTS: ca, SSL_CERT_FILE: ca },
    lookup: async (host: string) => {
      if (host !== name) throw new Error('there is no such name')
      return ['127.0.0.1']
    },
    close: () => void server.close(),
  }
}
